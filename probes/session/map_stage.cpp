#include "probes/session/map_stage.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "probes/plan/miswirings.hpp"
#include "probes/plan/pattern_plan.hpp"
#include "probes/plan/trace_evidence.hpp"
#include "probes/session/stage.hpp"
#include "topology/model/fabric.hpp"

namespace weft::session {
namespace {

constexpr int kMaxRounds = 3;
constexpr std::uint8_t kAttempts = 3;  // a hop that is silent three times is silent, not unlucky
constexpr std::uint32_t kMoreLabels = 32;
constexpr std::uint32_t kPatternLabels = 8;
/// A lab answers as fast as it is asked; this keeps 16 agents on two cores from losing answers to their own
/// speed.
constexpr double kMaxTracesPerSecond = 2000;
constexpr auto kSlack = std::chrono::seconds(5);
constexpr std::uint32_t kAnswersThatTell = 32;
constexpr double kPowerOfShare = 4.0;        // power of the share that came: at a loss of a half, 1 in 16
constexpr double kPassedAgainstDead = 20.0;  // nats: exp(-20) of what enters a dead channel passes

/// The channels between two NICs, both hosts' cables included: hops a trace must ask for.
std::uint8_t hops_between(const Fabric& fabric, routing::ShortestPathCache& ways, const plan::NicPair& pair) {
  const auto between =
      ways.to(routing::edge_switch(fabric, pair.dst)).hops(routing::edge_switch(fabric, pair.src));
  return static_cast<std::uint8_t>(std::min<std::uint32_t>(between.value_or(0) + 2, 32));
}

/// By channel: packets over a known path crossed it.
std::vector<bool> passed_over(const Fabric& fabric, const Observations& observations) {
  std::vector<bool> passed(fabric.channel_count(), false);
  for (const Observation& probe : observations.probes) {
    const auto paths = observations.paths.paths(probe.path);
    if (paths.size() > 1 || probe.lost >= probe.sent) continue;
    for (const ChannelId channel : observations.paths.channels(paths[0])) passed[channel.value()] = true;
  }
  return passed;
}

/// A channel that none of many flows took, though each could have: its near end does not use it. A port goes
/// down for both ends; where packets come back by the cable it is up, and hashes that depend on each other
/// (CRC and XOR families, above the first switch that chooses) leave such a channel out.
void note_dark_channels(const SweepInputs& in, SweepResults& results) {
  const auto seen = sights(in.fabric, results.learner);
  const auto passes = passed_over(in.fabric, results.observations);
  const double sure =
      std::log((1 - in.options.confidence.value()) / static_cast<double>(in.fabric.channel_count()));
  for (std::uint32_t c = 0; c < seen.size(); ++c) {
    const auto is_used = [&](ChannelId channel) {
      return seen[channel.value()].seen > 0 || passes[channel.value()];
    };
    if (is_used(ChannelId(c)) || is_used(Fabric::reverse(ChannelId(c))) || seen[c].log_missed() > sure)
      continue;
    results.observations.channels.push_back(
        {ChannelId(c), Cause::down, -seen[c].log_missed(),
         fmt::format("none of {} traced flows took it, though each could have", seen[c].chances)});
  }
}

/// What a switch answered went there and came back: as packets that passed. What did not come a switch may
/// have dropped to limit its rate, so where little came it tells less.
void note_answers(const SweepInputs& in, SweepResults& results) {
  const auto answers = answers_over(in.fabric, results.learner);
  for (std::uint32_t c = 0; c < answers.size(); ++c) {
    const auto& [asked, came] = answers[c];
    if (came == 0) continue;
    const double packets =
        std::min(came, kAnswersThatTell) * std::pow(static_cast<double>(came) / asked, kPowerOfShare);
    results.observations.channels.push_back(
        {ChannelId(c), Cause::down, -kPassedAgainstDead * packets,
         fmt::format("{} of {} answers to traces came over it", came, asked)});
  }
}

}  // namespace

std::size_t MapStage::waves_left() const {
  return only_ ? 1 : static_cast<std::size_t>(std::max(1, kMaxRounds - round_));
}

std::vector<WorkItem> MapStage::next_wave() {
  if (round_++ >= (only_ ? 1 : kMaxRounds)) return {};
  if (only_) return work_for(*only_);
  if (round_ == 1) {
    const std::vector<PortId> out(results_->out.begin(), results_->out.end());
    const auto pairs = plan::choose_pairs(in_->fabric, plan::default_partners(in_->fabric, out), out);
    auto plan = plan_traces(in_->fabric, results_->learner.ways(), pairs,
                            {in_->options.confidence, in_->options.seed});
    std::ranges::move(traces_of_pattern(pairs, out), std::back_inserter(plan));
    return work_for(plan);
  }
  if (predicted_) predicted_->learn(predicted_for_);
  // Enough chances: so unlikely to be missed by all that not one channel of the whole fabric would be, by
  // chance.
  const double enough =
      std::log((1 - in_->options.confidence.value()) / static_cast<double>(in_->fabric.channel_count()));
  std::vector<ChannelId> unseen;
  const auto seen = sights(in_->fabric, results_->learner);
  // Where as many flows end as would take it, it may be what they end on: more traces would say no more.
  const auto tells = [&](const plan::Sight& sight) {
    return sight.seen == 0 && sight.log_missed() > enough && 2 * sight.ended <= sight.expected;
  };
  for (std::uint32_t c = 0; c < seen.size(); ++c)
    if (tells(seen[c]) && in_->fabric.between_switches(ChannelId(c))) unseen.emplace_back(c);
  return work_for(more_traces(unseen));
}

/// A few labels for each pair that the load needs and the map does not: enough to choose paths that meet few
/// others.
std::vector<plan::TracePlan> MapStage::traces_of_pattern(const std::vector<plan::NicPair>& mapped,
                                                         const std::vector<PortId>& out) {
  if (in_->options.load == LoadLevel::none) return {};
  auto pairs = plan::pattern_pairs(in_->fabric, in_->options.pattern, out);
  std::erase_if(pairs, [&](const plan::NicPair& pair) { return std::ranges::binary_search(mapped, pair); });
  auto plan =
      plan_traces(in_->fabric, results_->learner.ways(), pairs, {in_->options.confidence, in_->options.seed});
  for (plan::TracePlan& trace : plan)
    if (trace.labels.size() > kPatternLabels) trace.labels.resize(kPatternLabels);
  return plan;
}

/// New labels for every pair whose flows pass the near end of an unseen channel.
std::vector<plan::TracePlan> MapStage::more_traces(const std::vector<ChannelId>& unseen) {
  if (unseen.empty()) return {};
  std::set<NodeId> near;
  for (const ChannelId channel : unseen) near.insert(in_->fabric.source_node(channel));
  std::vector<plan::NicPair> pairs;
  for (const plan::PairRoutes& pair : results_->learner.pairs()) {
    bool passes = false;
    for (const plan::Route& route : pair.routes)
      for (const PathId path : results_->learner.table().paths(route.paths))
        for (const ChannelId channel : results_->learner.table().channels(path))
          passes |= near.contains(in_->fabric.target_node(channel));
    if (passes) pairs.push_back({pair.src, pair.dst});
  }
  const std::uint64_t seed = in_->options.seed + static_cast<std::uint64_t>(round_);
  auto plan = plan_traces(in_->fabric, results_->learner.ways(), pairs, {in_->options.confidence, seed});
  for (plan::TracePlan& trace : plan)
    if (trace.labels.size() > kMoreLabels) trace.labels.resize(kMoreLabels);
  if (!predicted_) predicted_.emplace(results_->learner, in_->fabric, in_->addresses);
  predicted_for_ = std::move(pairs);
  std::ranges::move(predicted_->next(predicted_for_, unseen, seed), std::back_inserter(plan));
  return plan;
}

std::vector<WorkItem> MapStage::work_for(const std::vector<plan::TracePlan>& plan) {
  return trace_work(*in_, *results_, plan, {in_->options.answers_per_second, kAttempts});
}

void MapStage::take(const WorkItem& item, const TaskAnswer* answer) {
  const auto& request = std::get<datapath::TraceRequest>(item.work);
  const auto answers = by_spec(request, answer);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const datapath::TraceSpec& spec = request.specs[i];
    results_->learner.learn(item.nic, request.peers[spec.peer].nic, spec.label, answers[i], spec.to_peer);
  }
}

std::vector<WorkItem> trace_work(const SweepInputs& in, SweepResults& results,
                                 const std::vector<plan::TracePlan>& plan, TraceManner manner) {
  auto& ways = results.learner.ways();
  const auto least_time = least_trace_time(in.fabric, ways, plan, manner.answers_per_second);
  std::map<PortId, std::vector<const plan::TracePlan*>> by_nic;
  for (const plan::TracePlan& trace : plan)
    if (results.takes_part(trace.pair.src) && results.takes_part(trace.pair.dst))
      by_nic[trace.pair.src].push_back(&trace);
  const BatchId batch = results.next_batch();
  std::vector<WorkItem> work;
  for (const auto& [nic, traces] : by_nic) {
    datapath::TraceRequest request{.run = in.run, .batch = batch, .attempts = manner.attempts};
    PeerList peers;
    double packets = 0;
    for (const plan::TracePlan* trace : traces) {
      const auto peer = peers.index_of(trace->pair.dst, in.addresses);
      const auto hops =
          trace->hops.value_or(plan::HopRange{1, hops_between(in.fabric, ways, trace->pair), true});
      for (const PathLabel label : trace->labels)
        request.specs.push_back({peer, label, hops.last, hops.first, hops.to_peer});
      packets += (hops.last - hops.first + 1.0) * static_cast<double>(trace->labels.size());
    }
    request.peers = std::move(peers).take();
    const double seconds =
        std::max(std::chrono::duration<double>(least_time).count(), packets / kMaxTracesPerSecond);
    request.pace.packets_per_second = packets / seconds;
    const Nanoseconds expected(static_cast<std::int64_t>(seconds * 1e9));
    work.push_back(
        {nic, (expected + request.pace.answer_wait) * manner.attempts + kSlack, std::move(request)});
  }
  return work;
}

std::vector<std::vector<datapath::HopAnswer>> by_spec(const datapath::TraceRequest& request,
                                                      const TaskAnswer* answer) {
  std::vector<std::vector<datapath::HopAnswer>> answers(request.specs.size());
  if (const auto* hops = answer ? std::get_if<std::vector<datapath::HopAnswer>>(answer) : nullptr)
    for (const datapath::HopAnswer& hop : *hops)
      if (hop.spec < answers.size()) answers[hop.spec].push_back(hop);
  return answers;
}

void note_map(const SweepInputs& in, SweepResults& results) {
  note_dark_channels(in, results);
  note_answers(in, results);
  auto miswired = miswirings(in.fabric, results.learner);
  std::ranges::move(miswired.channels, std::back_inserter(results.observations.channels));
  std::ranges::move(miswired.hosts, std::back_inserter(results.observations.hosts));
}

}  // namespace weft::session
