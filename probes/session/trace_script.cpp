#include "probes/session/trace_script.hpp"

#include <algorithm>

#include "probes/session/peer_list.hpp"

namespace weft {
namespace {

// Just enough that packets really go: a few of each queue pair.
constexpr Nanoseconds kAuditTime = std::chrono::milliseconds(500);
constexpr Bandwidth kAuditRate = Bandwidth::mbit(5);  // of all together
constexpr Bytes kAuditPacket(256);
constexpr auto kSlack = std::chrono::seconds(20);  // a thousand queue pairs take a while to connect

}  // namespace

TraceScript::TraceScript(const Fabric& fabric, const AddressBook& addresses, const SweepOptions& options,
                         RunId run, TracePlan plan, std::uint32_t queue_pairs)
    : state_(fabric, addresses, options), plan_(std::move(plan)), queue_pairs_(queue_pairs) {
  state_.run = run;
}

std::vector<WorkItem> TraceScript::next_wave() {
  const bool both = state_.takes_part(plan_.pair.src) && state_.takes_part(plan_.pair.dst);
  if (queue_pairs_ > 0 && both) return {queue_pair_work()};
  if (!stage_) {
    for (const PathLabel label : chosen_)
      if (std::ranges::find(plan_.labels, label) == plan_.labels.end()) plan_.labels.push_back(label);
    stage_.emplace(state_, std::vector<TracePlan>{plan_});
  }
  return stage_->next_wave();
}

WorkItem TraceScript::queue_pair_work() {
  FlowRequest request{.run = state_.run, .batch = state_.next_batch(), .duration = kAuditTime};
  PeerList peers;
  const auto peer = peers.index_of(plan_.pair.dst, state_.addresses);
  request.specs.assign(queue_pairs_, {peer, std::nullopt, kAuditRate * (1.0 / queue_pairs_), kAuditPacket});
  request.peers = std::move(peers).take();
  queue_pairs_ = 0;
  return {plan_.pair.src, kAuditTime + kSlack, std::move(request)};
}

void TraceScript::take(const WorkItem& item, const TaskAnswer* answer) {
  if (stage_) return stage_->take(item, answer);
  const auto* tallies = answer ? std::get_if<std::vector<FlowTally>>(answer) : nullptr;
  if (!tallies) return;
  for (const FlowTally& tally : *tallies)
    if (tally.chosen) chosen_.push_back(*tally.chosen);
}

}  // namespace weft
