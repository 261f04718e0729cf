#include "balancer/export/translate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "balancer/export/kubernetes_devices.hpp"
#include "balancer/export/slurm_reservation.hpp"

namespace weft::exports {
namespace {

using blacklist::Effect;
using blacklist::Entry;
using blacklist::EntryState;

/// What is to stand, in the words of a scheduler.
struct Wanted {
  std::string object, set;
};

/// A scheduler of nodes.
struct Scheduler {
  bool (*is_name)(std::string_view);
  std::function<std::vector<Wanted>(const Entry&, const std::string& node)> host;
  std::function<Wanted(const Entry&, const std::string& node, std::uint32_t rail)> nic;
  std::string_view unfit;  // "'NAME' is no name of ...": what then
};

class SchedulerTranslator {
 public:
  SchedulerTranslator(const blacklist::Ledger& ledger, const Fabric& fabric, const blacklist::Policy& policy,
                      const Scheduler& scheduler)
      : ledger_(ledger),
        fabric_(fabric),
        policy_(policy),
        scheduler_(scheduler),
        out_(fabric.link_count(), false) {}

  Translation run() && {
    for (const Entry& entry : ledger_.entries) {
      if (entry.state == EntryState::released) continue;
      const auto subject = find_subject(fabric_, entry.subject);
      if (!subject) continue;
      const Effect effect = effect_of(fabric_, *subject, policy_.nic_action);
      if (entry.state == EntryState::active || (entry.verdict == Verdict::failed && !entry.by_hand))
        for (const LinkId link : effect.links) out_[link.value()] = true;
      if (entry.state == EntryState::active) demand(entry, effect);
    }
    look_at_leaves();
    return std::move(result_);
  }

 private:
  void demand(const Entry& entry, const Effect& effect) {
    for (const NodeId host : effect.hosts)
      if (is_fit(entry, host))
        for (Wanted& wanted : scheduler_.host(entry, fabric_.name_of(host)))
          ask(entry, std::move(wanted), {.hosts = {host}});
    for (const PortId nic : effect.nics) {
      const Port& port = fabric_.port(nic);
      if (is_fit(entry, port.node))
        ask(entry, scheduler_.nic(entry, fabric_.name_of(port.node), port.number.value()), {.nics = {nic}});
    }
  }

  void ask(const Entry& entry, Wanted wanted, Effect effect) {
    result_.demands.push_back({entry.id, std::move(wanted.object), std::move(wanted.set), std::move(effect)});
  }

  bool is_fit(const Entry& entry, NodeId host) {
    const std::string& name = fabric_.name_of(host);
    if (scheduler_.is_name(name)) return true;
    if (unfit_.insert(host.value()).second)
      result_.advice.push_back(
          fmt::format("entry {}: '{}' is no name of {}", entry.id.value(), name, scheduler_.unfit));
    return false;
  }

  /// What a scheduler can do about links between switches is to leave the hosts below alone.
  void look_at_leaves() {
    for (std::uint32_t i = 0; i < fabric_.node_count(); ++i) {
      const NodeId leaf(i);
      if (fabric_.is_host(leaf) || fabric_.node(leaf).tier != Tier::leaf) continue;
      std::size_t uplinks = 0, out = 0, hosts = 0;
      for (const ChannelId channel : fabric_.channels_from(leaf)) {
        if (!fabric_.between_switches(channel)) {
          ++hosts;
          continue;
        }
        ++uplinks;
        out += out_[Fabric::link_of(channel).value()] ? 1 : 0;
      }
      if (hosts == 0 || static_cast<double>(out) <= policy_.caps.leaf_uplinks * static_cast<double>(uplinks))
        continue;
      const std::string& name = fabric_.name_of(leaf);
      result_.advice.push_back(
          fmt::format("{}: {} of {} uplinks are out of use, more than it may lose: drain its hosts by `weft "
                      "blacklist add {} --for TIME --reason TEXT`",
                      name, out, uplinks, name));
    }
  }

  const blacklist::Ledger& ledger_;
  const Fabric& fabric_;
  const blacklist::Policy& policy_;
  const Scheduler& scheduler_;
  std::vector<bool> out_;  // links that no route should use
  std::set<std::uint32_t> unfit_;
  Translation result_;
};

template <class Visit>
void for_each_active(const blacklist::Ledger& ledger, const Fabric& fabric, const blacklist::Policy& policy,
                     Visit visit) {
  for (const Entry& entry : ledger.entries)
    if (entry.state == EntryState::active)
      if (const auto subject = find_subject(fabric, entry.subject))
        visit(entry, effect_of(fabric, *subject, policy.nic_action));
}

}  // namespace

Translation translate_for_slurm(const blacklist::Ledger& ledger, const Fabric& fabric,
                                const blacklist::Policy& policy, HostMark mark) {
  const auto wanted = [&](const Entry& entry, const std::string& node) -> Wanted {
    if (mark == HostMark::drain) return {node, slurm_reason(fabric, entry, ledger.fabric)};
    return {feature_object(node, kReservation),
            reservation_text(reservation_name(mark_id(ledger.fabric, entry.id), node))};
  };
  const Scheduler slurm{
      .is_name = is_slurm_name,
      .host = [&](const Entry& entry,
                  const std::string& node) { return std::vector<Wanted>{wanted(entry, node)}; },
      .nic =
          [](const Entry&, const std::string& node, std::uint32_t rail) {
            return Wanted{feature_object(node, rail_feature(rail)), "not active"};
          },
      .unfit = "a node that scontrol can be given: drain it by hand"};
  return SchedulerTranslator(ledger, fabric, policy, slurm).run();
}

Translation translate_for_kubernetes(const blacklist::Ledger& ledger, const Fabric& fabric,
                                     const blacklist::Policy& policy, const KubernetesKeys& keys) {
  const Scheduler kubernetes{
      .is_name = is_node_name,
      .host =
          [&](const Entry& entry, const std::string& node) {
            return std::vector<Wanted>{
                {node, taint_text(keys, mark_id(ledger.fabric, entry.id))},
                {condition_object(node), condition_message(fabric, entry, ledger.fabric)}};
          },
      .nic =
          [&](const Entry& entry, const std::string& node, std::uint32_t rail) {
            const auto mark = mark_id(ledger.fabric, entry.id);
            if (!keys.driver.empty())
              return Wanted{device_object(node, rail), device_text(keys, node, rail, mark)};
            return Wanted{rail_object(node, rail), mark_value(mark)};
          },
      .unfit = "a node that Kubernetes may have: taint it by hand"};
  return SchedulerTranslator(ledger, fabric, policy, kubernetes).run();
}

Translation translate_for_opensm(const blacklist::Ledger& ledger, const Fabric& fabric,
                                 const blacklist::Policy& policy) {
  Translation result;
  for_each_active(ledger, fabric, policy, [&](const Entry& entry, const Effect& effect) {
    for (const LinkId link : effect.links)
      result.demands.push_back({entry.id, fabric.name_of(link), "disabled", {.links = {link}}});
  });
  return result;
}

Translation translate_for_ufm(const blacklist::Ledger& ledger, const Fabric& fabric,
                              const blacklist::Policy& policy) {
  Translation result;
  for_each_active(ledger, fabric, policy, [&](const Entry& entry, const Effect& effect) {
    const auto ask = [&](LinkId link, Effect its) {
      result.demands.push_back({entry.id, fabric.name_of(link), "isolated", std::move(its)});
    };
    for (const LinkId link : effect.links) ask(link, {.links = {link}});
    for (const PortId nic : effect.nics)
      if (const auto link = fabric.port(nic).link) ask(*link, {.nics = {nic}});
  });
  return result;
}

Translation translate_for_program(const blacklist::Ledger& ledger, const Fabric& fabric,
                                  const blacklist::Policy& policy) {
  Translation result;
  for_each_active(ledger, fabric, policy, [&](const Entry& entry, const Effect& effect) {
    const auto ask = [&](const blacklist::Subject& object, Effect its) {
      result.demands.push_back({entry.id, blacklist::name_of(fabric, object).name,
                                slurm_reason(fabric, entry, ledger.fabric), std::move(its)});
    };
    for (const LinkId link : effect.links) ask(link, {.links = {link}});
    for (const PortId nic : effect.nics) ask(nic, {.nics = {nic}});
    for (const NodeId host : effect.hosts) ask(host, {.hosts = {host}});
  });
  return result;
}

}  // namespace weft::exports
