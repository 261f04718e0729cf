#include <algorithm>

#include "topology/lab/guests/guests.hpp"
#include "topology/lab/netns/fault.hpp"
#include "topology/lab/netns/fault_rules.hpp"
#include "topology/lab/netns/names.hpp"
#include "topology/lab/netns/node_setup.hpp"
#include "topology/lab/netns/state.hpp"
#include "topology/model/fabric.hpp"
#include "topology/os/network_namespace.hpp"

namespace weft::lab {
namespace {

// A load's frames: as large as the flows of a training job (a 4096-byte payload), where the lab's MTU allows.
constexpr Bytes kLoadFrame{4096};

/// Changes the kernel and the state together: every step leaves in `state` what is now true of the kernel.
class FaultChange {
 public:
  FaultChange(const Lab& lab, const LabScripts& scripts, LabState& state)
      : lab_(lab), fabric_(lab.fabric()), setup_(lab, scripts), state_(state) {}

  Result<void> set(ChannelId channel, const ChannelFault& fault) {
    const ChannelFault before = state_.faults[channel];
    state_.faults[channel] = fault;
    if (fault.nothing()) state_.faults.erase(channel);
    Result<void> done;
    if (before.rate != fault.rate) done = setup_.shape_port(fabric_.source(channel), fault.rate);
    if (done && (before.filters() || fault.filters())) done = filter(channel);
    if (done && before.delay != fault.delay) done = delay(channel, fault.delay);
    if (done && before.load != fault.load) done = load(channel, fault.load);
    return done;
  }

  Result<void> take_down(LinkId link) {
    if (!state_.down.insert(link).second) return {};
    for (const PortId port : ends(link)) WEFT_TRY_VOID(setup_.lower_port(port));
    return {};
  }

  /// The kernel dropped addresses, nexthops and routes of both ends with the cable: they are made again.
  Result<void> bring_up(LinkId link) {
    if (state_.down.erase(link) == 0) return {};
    for (const PortId port : ends(link)) WEFT_TRY_VOID(setup_.raise_port(port));
    for (const PortId port : ends(link)) {
      const NodeId node = fabric_.port(port).node;
      if (fabric_.is_host(node)) continue;
      WEFT_TRY_VOID(setup_.set_up_routes(node, state_.down));
    }
    return {};
  }

 private:
  std::vector<PortId> ends(LinkId link) const { return {fabric_.link(link).a, fabric_.link(link).b}; }

  Result<void> filter(ChannelId channel) {
    const NodeId node = fabric_.port(judged_at(fabric_, channel).port).node;
    return run_in_namespace(lab_.namespace_of(node), {"nft", "-f", "-"},
                            filter_rules(fabric_, node, state_.faults));
  }

  Result<void> delay(ChannelId channel, std::optional<Nanoseconds> delay) {
    const auto file = lab_.namespace_of(fabric_.port(judged_at(fabric_, channel).port).node);
    const auto rule = [&](const char* action) {
      return run_in_namespace(file, delay_rule(fabric_, lab_.settings().family, channel, action), "");
    };
    if (end_worker(LabWorker::Kind::delay, channel)) WEFT_TRY_VOID(rule("-D"));
    if (!delay) return {};
    const auto started = start_in(file, [&] {
      return start_delay({.queue = delay_queue(fabric_, channel),
                          .delay = *delay,
                          .v6 = lab_.settings().family == IpFamily::v6});
    });
    if (!started) return pass_on(started);
    state_.workers.push_back({LabWorker::Kind::delay, channel, *started});
    auto added = rule("-A");
    if (!added) end_worker(LabWorker::Kind::delay, channel);
    return added;
  }

  Result<void> load(ChannelId channel, std::optional<Bandwidth> rate) {
    end_worker(LabWorker::Kind::load, channel);
    if (!rate) return {};
    const PortId from = fabric_.source(channel);
    const auto started = start_in(lab_.namespace_of(fabric_.port(from).node), [&] {
      return start_load({.interface = interface_name(fabric_.port(from).number),
                         .to_mac = mac_of(fabric_.target(channel)),
                         .rate = *rate,
                         .size = std::min(kLoadFrame, lab_.settings().mtu)});
    });
    if (!started) return pass_on(started);
    state_.workers.push_back({LabWorker::Kind::load, channel, *started});
    return {};
  }

  static Result<os::ProcessMark> start_in(const std::filesystem::path& file,
                                          const std::function<Result<os::ProcessMark>()>& start) {
    WEFT_TRY(const auto visit, os::NamespaceVisit::enter(file));
    return start();
  }

  /// True: there was one.
  bool end_worker(LabWorker::Kind kind, ChannelId channel) {
    const auto is_it = [&](const LabWorker& w) { return w.kind == kind && w.channel == channel; };
    const auto found = std::ranges::find_if(state_.workers, is_it);
    if (found == state_.workers.end()) return false;
    end_process(found->process);
    state_.workers.erase(found);
    return true;
  }

  const Lab& lab_;
  const Fabric& fabric_;
  NodeSetup setup_;
  LabState& state_;
};

Result<void> check_lab_can(const Fabric& fabric, const FaultSpec& spec) {
  WEFT_TRY_VOID(check_fault(fabric, spec));
  if (spec.comes_and_goes() || spec.burst)
    return fail(
        ErrorKind::not_supported,
        "a lab's faults stay until they are healed and lose packets one by one: on, off and burst are "
        "for 'weft simulate'");
  if (spec.down && spec.channel)
    return fail(
        ErrorKind::usage,
        "a cable goes down in both directions: leave --from away, or lose all packets of one direction "
        "with --loss 100");
  return {};
}

/// Locks and reads the state, lets `change` work on it, writes what is true afterwards also after an error.
Result<void> change_state(const Lab& lab, const std::filesystem::path& state_root,
                          const std::function<Result<void>(FaultChange&, LabState&)>& change) {
  WEFT_TRY(const auto lock, StateLock::take(state_root));
  WEFT_TRY(auto state, read_lab_state(state_root, lab.name()));
  WEFT_TRY(const auto scripts, LabScripts::make(lab.fabric(), lab.settings(), lab.addresses()));
  FaultChange worker(lab, scripts, state);
  const auto changed = change(worker, state);
  const auto written = write_lab_state(state_root, state);
  return changed ? written : changed;
}

}  // namespace

Result<void> lab_fault(const Lab& lab, const FaultSpec& spec, const std::filesystem::path& state_root) {
  WEFT_TRY_VOID(check_lab_can(lab.fabric(), spec));
  const auto done = change_state(lab, state_root, [&](FaultChange& change, LabState& state) -> Result<void> {
    for (const ChannelId channel : channels_of(spec)) {
      const auto found = state.faults.find(channel);
      const ChannelFault before = found == state.faults.end() ? ChannelFault{} : found->second;
      WEFT_TRY_VOID(change.set(channel, merged(before, spec)));
    }
    return spec.down ? change.take_down(spec.link) : Result<void>();
  });
  if (!done) return pass_on(done, fmt::format("fault on {}", lab.fabric().name_of(spec.link)));
  return {};
}

Result<bool> lab_heal(const Lab& lab, std::optional<LinkId> link, const std::filesystem::path& state_root) {
  bool any = false;
  const auto done = change_state(lab, state_root, [&](FaultChange& change, LabState& state) -> Result<void> {
    const auto meant = [&](LinkId one) { return !link || *link == one; };
    const auto faults = state.faults;
    const auto down = state.down;
    for (const auto& [channel, fault] : faults) {
      if (!meant(Fabric::link_of(channel))) continue;
      any = true;
      WEFT_TRY_VOID(change.set(channel, {}));
    }
    for (const LinkId one : down) {
      if (!meant(one)) continue;
      any = true;
      WEFT_TRY_VOID(change.bring_up(one));
    }
    return {};
  });
  if (!done) return pass_on(done, fmt::format("heal lab '{}'", lab.name()));
  return any;
}

Result<LabStatus> lab_status(std::string_view name, const std::filesystem::path& state_root) {
  WEFT_TRY(const auto state, read_lab_state(state_root, name));
  WEFT_TRY(auto lab, LabAccess::describe(state, state_root));
  LabStatus status{.name = state.name, .phase = phase_of(state, state_root), .lab = std::move(lab)};
  for (const auto& [channel, fault] : state.faults) {
    const bool ended = std::ranges::any_of(state.workers, [&](const LabWorker& worker) {
      return worker.kind == LabWorker::Kind::load && worker.channel == channel && !is_running(worker.process);
    });
    status.faults.push_back({channel, fault, ended});
  }
  status.down.assign(state.down.begin(), state.down.end());
  if (status.phase == LabPhase::up)
    status.ended_guests =
        ended_guests(state.settings.guests, state_directory(state_root, name) / kGuestFiles);
  return status;
}

}  // namespace weft::lab
