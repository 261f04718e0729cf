#include "probes/session/trace_script.hpp"

#include <algorithm>
#include <set>

#include "probes/plan/path_learner.hpp"
#include "probes/session/contradictions.hpp"
#include "probes/session/stage.hpp"

namespace weft::session {
namespace {

// Just enough that packets really go: a few of each queue pair.
constexpr Nanoseconds kAuditTime = std::chrono::milliseconds(500);
/// Half of it after the move: enough for a queue pair that it broke to say so, after seven times 67 ms
/// (QpRoute::timeout_exponent).
constexpr Nanoseconds kMoveTime = std::chrono::seconds(2);
constexpr Bandwidth kAuditRate = Bandwidth::mbit(5);  // of all together
constexpr Bytes kAuditPacket(256);
/// Labels of one wave: as many as two switches of 8 next hops have news in, so that few say what others said.
constexpr std::size_t kAtOnce = 16;
constexpr auto kSlack = std::chrono::seconds(20);  // a thousand queue pairs take a while to connect

}  // namespace

TraceScript::TraceScript(const Fabric& fabric, const AddressBook& addresses, const SweepOptions& options,
                         RunId run, plan::TracePlan plan, AuditOrder audit, MapOrder map)
    : in_{fabric, addresses, options, run},
      results_(in_),
      plan_(std::move(plan)),
      audit_(audit),
      order_(map) {
  if (!order_.all_labels) return;
  map_.emplace(results_.learner, fabric, addresses, plan::kHashConfidence, run.value());
  if (const auto ways = plan::ways_of_pair(fabric, results_.learner.ways(), addresses, plan_.pair))
    deciding_ = ways->deciding;
}

std::vector<WorkItem> TraceScript::next_wave() {
  switch (step_) {
    case Step::map:
      if (map_) return trace(next_to_map());
      step_ = audit_.queue_pairs > 0 ? Step::audit : Step::over;
      return trace(plan_.labels);
    case Step::audit:
      step_ = Step::map_chosen;
      return queue_pair_work();
    case Step::map_chosen:
      step_ = Step::over;
      return trace(untraced());
    case Step::over:
      break;
  }
  return {};
}

std::vector<WorkItem> TraceScript::trace(std::vector<PathLabel> labels) {
  if (labels.empty()) return {};
  // A label that was silent is asked at all hops: the next switch tells what one that never answers chose.
  const auto again = std::ranges::stable_partition(labels, [&](PathLabel l) { return !traced_.contains(l); });
  std::vector<plan::TracePlan> plans{{plan_.pair, {labels.begin(), again.begin()}, deciding_},
                                     {plan_.pair, {again.begin(), again.end()}}};
  std::erase_if(plans, [](const plan::TracePlan& plan) { return plan.labels.empty(); });
  traced_.insert(labels.begin(), labels.end());
  stage_.emplace(in_, results_, std::move(plans));
  return stage_->next_wave();
}

std::vector<WorkItem> TraceScript::queue_pair_work() {
  if (!results_.takes_part(plan_.pair.src) || !results_.takes_part(plan_.pair.dst)) return {};
  const Nanoseconds duration = audit_.move ? kMoveTime : kAuditTime;
  datapath::FlowRequest request{.run = in_.run, .batch = results_.next_batch(), .duration = duration};
  PeerList peers;
  const auto peer = peers.index_of(plan_.pair.dst, in_.addresses);
  const std::uint32_t count = audit_.queue_pairs;
  request.specs.assign(count, {peer, std::nullopt, kAuditRate * (1.0 / count), kAuditPacket});
  request.peers = std::move(peers).take();
  if (const auto* pair = results_.learner.find(plan_.pair.src, plan_.pair.dst); pair && audit_.move) {
    const auto labels = even_labels(results_.learner.table(), *pair, count);
    for (std::size_t i = 0; i < labels.size(); ++i) request.specs[i].then = labels[i];
  }
  return {{plan_.pair.src, duration + kSlack, std::move(request)}};
}

std::vector<PathLabel> TraceScript::untraced() const {
  std::set<PathLabel> labels;
  for (const datapath::AuditedQp& qp : audited_) labels.insert(qp.chosen);
  for (const PathLabel label : plan_.labels) labels.erase(label);
  return {labels.begin(), labels.end()};
}

std::size_t TraceScript::paths_seen() const {
  const plan::PairRoutes* known = results_.learner.find(plan_.pair.src, plan_.pair.dst);
  std::set<PathId> seen;
  if (known)
    for (const plan::Route& route : known->routes)
      if (const auto paths = results_.learner.table().paths(route.paths); paths.size() == 1)
        seen.insert(paths.front());
  return seen.size();
}

std::vector<PathLabel> TraceScript::next_to_map() {
  if (auto labels = map_->next_labels(plan_.pair, kAtOnce); !labels.empty()) return labels;
  auto& ways = results_.learner.ways();
  const std::size_t seen = paths_seen();
  if (seen >= plan::equal_paths(in_.fabric, ways, plan_.pair)) return {};
  if (seen > 0 && map_->tally(plan_.pair).open == 0) return {};  // what no label reaches is not to be seen
  // What the switches choose by has no structure that was found: as many as show all paths, by chance.
  std::vector<PathLabel> more;
  const auto enough = plan::plan_traces(in_.fabric, ways, {plan_.pair}, {order_.confidence, in_.run.value()});
  for (const PathLabel label : enough.front().labels)
    if (more.size() < kAtOnce && !traced_.contains(label)) more.push_back(label);
  return more;
}

void TraceScript::take(const WorkItem& item, const TaskAnswer* answer) {
  const auto* request = std::get_if<datapath::FlowRequest>(&item.work);
  if (!request) {
    stage_->take(item, answer);
    if (!map_) return;
    std::vector<PathLabel> labels;
    for (const datapath::TraceSpec& spec : std::get<datapath::TraceRequest>(item.work).specs)
      labels.push_back(spec.label);
    const auto* hops = answer ? std::get_if<std::vector<datapath::HopAnswer>>(answer) : nullptr;
    if (!hops || hops->empty()) deciding_.reset();  // a switch that does not answer: its neighbours may tell
    return map_->learn(plan_.pair, labels);
  }
  const auto* tallies = answer ? std::get_if<std::vector<datapath::FlowTally>>(answer) : nullptr;
  if (!tallies) return;
  for (const datapath::FlowTally& tally : *tallies)
    if (tally.refused)
      note_refusal(in_.fabric, results_, plan_.pair.src, plan_.pair.dst, *tally.refused);
    else if (tally.chosen && tally.spec < request->specs.size())
      audited_.push_back({*tally.chosen, request->specs[tally.spec].then, tally.moved, tally.error});
}

}  // namespace weft::session
