#include "tests/support/translation_oracle.hpp"

#include <algorithm>
#include <random>
#include <set>

#include "balancer/export/slurm_node.hpp"
#include "balancer/export/translate.hpp"
#include "topology/model/clos.hpp"

namespace weft {
namespace {

using namespace blacklist;

Fabric draw_fabric(std::mt19937_64& random) {
  const auto between = [&](std::uint32_t least, std::uint32_t most) {
    return least + static_cast<std::uint32_t>(random() % (most - least + 1));
  };
  if (random() % 3 == 0)
    return *make_pod_clos({.name = "p",
                           .pods = between(2, 3),
                           .leaves = between(1, 3),
                           .spines = 2,
                           .cores = 2 * between(1, 3),
                           .hosts_per_leaf = between(1, 4)});
  return *make_clos(
      {.name = "c", .leaves = between(2, 6), .spines = between(1, 8), .hosts_per_leaf = between(1, 6)});
}

/// A cable by its text, and nothing of weft's model of it.
struct Cable {
  std::string a, b;  // node names
  std::string a_port, b_port;
};

std::pair<std::string, std::string> node_and_port(const std::string& end) {
  const auto slash = end.find('/');
  return slash == std::string::npos ? std::pair(end, std::string("1"))
                                    : std::pair(end.substr(0, slash), end.substr(slash + 2));
}

Cable cable_of(const std::string& text, std::string_view between) {
  const auto at = text.find(between);
  const auto [a, a_port] = node_and_port(text.substr(0, at));
  const auto [b, b_port] = node_and_port(text.substr(at + between.size()));
  return {a, b, a_port, b_port};
}

class Oracle {
 public:
  explicit Oracle(const Fabric& fabric) {
    for (std::uint32_t i = 0; i < fabric.link_count(); ++i)
      cables_.push_back(cable_of(fabric.name_of(LinkId(i)), "--"));
  }

  /// Objects that an entry demands.
  std::set<std::string> demands(const SubjectName& subject, NicAction action) const {
    std::set<std::string> out;
    const auto take = [&](const std::string& node, const std::string& port) {
      out.insert(action == NicAction::host ? node : fmt::format("{}:weft_rail{}_ok", node, port));
    };
    switch (subject.kind) {
      case SubjectKind::channel:
      case SubjectKind::link: {
        const auto cable = cable_of(subject.name, subject.kind == SubjectKind::channel ? "->" : "--");
        if (is_host(cable.a)) take(cable.a, cable.a_port);
        if (is_host(cable.b)) take(cable.b, cable.b_port);
        break;
      }
      case SubjectKind::nic: {
        const auto [node, port] = node_and_port(subject.name);
        take(node, port);
        break;
      }
      case SubjectKind::host:
        out.insert(subject.name);
        break;
      case SubjectKind::switch_:
        for (const Cable& cable : cables_) {
          if (cable.a == subject.name && is_host(cable.b)) out.insert(cable.b);
          if (cable.b == subject.name && is_host(cable.a)) out.insert(cable.a);
        }
        break;
    }
    return out;
  }

  /// Leaves that lost more than a quarter of their uplinks to a switch or a cable of this name.
  std::set<std::string> starved(const SubjectName& subject) const {
    std::map<std::string, std::pair<int, int>> uplinks;  // by leaf: all, out
    for (const Cable& cable : cables_) {
      if (is_host(cable.a) || is_host(cable.b)) continue;
      for (const std::string& end : {cable.a, cable.b}) {
        if (!end.starts_with("leaf") && end.find("leaf") == std::string::npos) continue;
        auto& [all, out] = uplinks[end];
        ++all, out += is_out(cable, subject) ? 1 : 0;
      }
    }
    std::set<std::string> leaves;
    for (const auto& [leaf, count] : uplinks)
      if (4 * count.second > count.first) leaves.insert(leaf);
    return leaves;
  }

 private:
  static bool is_host(const std::string& name) { return name.find("host") != std::string::npos; }
  static bool is_out(const Cable& cable, const SubjectName& subject) {
    if (subject.kind == SubjectKind::switch_) {
      const bool is_leaf = subject.name.find("leaf") != std::string::npos;
      return !is_leaf && (cable.a == subject.name || cable.b == subject.name);
    }
    if (subject.kind != SubjectKind::link && subject.kind != SubjectKind::channel) return false;
    const auto its = cable_of(subject.name, subject.kind == SubjectKind::channel ? "->" : "--");
    const auto same = [&](const Cable& other) {
      return cable.a == other.a && cable.b == other.b && cable.a_port == other.a_port &&
             cable.b_port == other.b_port;
    };
    return same(its) || same({its.b, its.a, its.b_port, its.a_port});
  }

  std::vector<Cable> cables_;
};

std::vector<Subject> all_subjects(const Fabric& fabric) {
  std::vector<Subject> subjects;
  for (std::uint32_t i = 0; i < fabric.channel_count(); ++i) subjects.push_back(ChannelId(i));
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) subjects.push_back(LinkId(i));
  for (std::uint32_t i = 0; i < fabric.node_count(); ++i) subjects.push_back(NodeId(i));
  for (const PortId nic : fabric.nics()) subjects.push_back(nic);
  return subjects;
}

bool is_right(const Fabric& fabric, const Oracle& oracle, const Subject& subject, Cause cause,
              NicAction action) {
  const Entry entry{
      .id = EntryId(1), .subject = name_of(fabric, subject), .cause = cause, .state = EntryState::active};
  const Policy policy{.nic_action = action};
  const auto translation =
      exports::translate_for_slurm({.fabric = fabric.name(), .entries = {entry}}, fabric, policy);
  std::set<std::string> objects;
  for (const exports::Demand& demand : translation.demands) objects.insert(demand.object);
  const auto starved = oracle.starved(entry.subject);
  bool right =
      objects == oracle.demands(entry.subject, action) && translation.advice.size() == starved.size();
  for (const std::string& leaf : starved)
    right = right && std::ranges::any_of(translation.advice, [&](const std::string& words) {
              return words.starts_with(leaf + ":");
            });
  return right;
}

}  // namespace

Translations try_translations(int fabrics) {
  constexpr Cause kCauses[] = {Cause::loss, Cause::rate, Cause::congestion, Cause::delay,
                               Cause::down, Cause::mtu,  Cause::corruption, Cause::counter};
  std::mt19937_64 random(1);
  Translations tried;
  for (int i = 0; i < fabrics; ++i) {
    const Fabric fabric = draw_fabric(random);
    const Oracle oracle(fabric);
    for (const Subject& subject : all_subjects(fabric))
      for (const NicAction action : {NicAction::host, NicAction::rail})
        for (const Cause cause : kCauses) {
          const bool right = is_right(fabric, oracle, subject, cause, action);
          ++tried.all, tried.right += right ? 1 : 0;
          if (!right && tried.wrong.empty())
            tried.wrong = name_of(fabric, subject).name + " of " + fabric.name();
        }
  }
  return tried;
}

}  // namespace weft
