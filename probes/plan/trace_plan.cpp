#include "probes/plan/trace_plan.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "topology/base/check.hpp"
#include "topology/model/fabric.hpp"

namespace weft::plan {
namespace {

constexpr std::uint32_t kMaxPaths = 65'535;
/// Up to so many traces every pair sees all its paths: seconds of work, and a label known for every path.
constexpr std::uint64_t kMaxSmallTraces = 50'000;
constexpr std::uint64_t kMinLabels = 4;

/// Paths between edge switches, remembered: all pairs of one couple of switches have the same number.
class PathCounts {
 public:
  PathCounts(const Fabric& fabric, routing::ShortestPathCache& ways) : fabric_(&fabric), ways_(&ways) {}

  std::uint32_t of(const NicPair& pair) {
    const NodeId from = routing::edge_switch(*fabric_, pair.src);
    const NodeId to = routing::edge_switch(*fabric_, pair.dst);
    const auto key = static_cast<std::uint64_t>(from.value()) << 32 | to.value();
    const auto [at, is_new] = known_.try_emplace(key, 0);
    if (is_new) at->second = count(from, to);
    return at->second;
  }

 private:
  std::uint32_t count(NodeId from, NodeId to) {
    routing::ShortestPaths& way = ways_->to(to);
    std::map<NodeId, std::uint64_t> wave{{from, 1}};  // ways to reach each node of one distance from `from`
    while (!wave.empty() && !wave.contains(to)) {
      std::map<NodeId, std::uint64_t> next;
      for (const auto& [node, paths] : wave)
        for (const ChannelId channel : way.next(node)) {
          auto& there = next[fabric_->target_node(channel)];
          there = std::min<std::uint64_t>(there + paths, kMaxPaths);
        }
      wave = std::move(next);
    }
    return wave.empty() ? 0 : static_cast<std::uint32_t>(wave[to]);
  }

  const Fabric* fabric_;
  routing::ShortestPathCache* ways_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;
};

std::vector<PathLabel> random_labels(std::uint64_t count, std::mt19937_64& random) {
  std::set<std::uint32_t> chosen;
  while (chosen.size() < std::min<std::uint64_t>(count, kRoceLabels))
    chosen.insert(kFirstRoceLabel + static_cast<std::uint32_t>(random() % kRoceLabels));
  std::vector<PathLabel> labels;
  for (const auto label : chosen) labels.emplace_back(label);
  return labels;
}

}  // namespace

std::vector<PathLabel> spread_labels(std::uint32_t count) {
  std::vector<PathLabel> labels;
  for (std::uint32_t i = 0; i < std::min(count, kRoceLabels); ++i)
    labels.emplace_back(kFirstRoceLabel + static_cast<std::uint32_t>(std::uint64_t{i} * kRoceLabels / count));
  return labels;
}

std::uint32_t equal_paths(const Fabric& fabric, routing::ShortestPathCache& ways, const NicPair& pair) {
  return PathCounts(fabric, ways).of(pair);
}

std::vector<TracePlan> plan_traces(const Fabric& fabric, routing::ShortestPathCache& ways,
                                   const std::vector<NicPair>& pairs, const TraceOptions& options) {
  PathCounts counts(fabric, ways);
  std::map<std::uint32_t, std::uint64_t> needed;  // labels by number of paths
  std::map<NodeId, std::uint64_t> pairs_from;     // by edge switch
  std::uint64_t all = 0;
  for (const NicPair& pair : pairs) {
    const auto paths = counts.of(pair);
    if (!needed.contains(paths)) needed[paths] = labels_to_see_all(paths, options.confidence);
    all += needed[paths];
    ++pairs_from[routing::edge_switch(fabric, pair.src)];
  }
  std::mt19937_64 random(options.seed);
  std::vector<TracePlan> plan;
  for (const NicPair& pair : pairs) {
    std::uint64_t labels = std::max(needed[counts.of(pair)], kMinLabels);
    // Twice the need, shared: each of the switch's own channels is then seen with the stated confidence many
    // times over.
    if (all > kMaxSmallTraces)
      labels = std::max(kMinLabels, 2 * labels / pairs_from[routing::edge_switch(fabric, pair.src)] + 1);
    plan.push_back({pair, random_labels(labels, random)});
  }
  return plan;
}

Nanoseconds least_trace_time(const Fabric& fabric, routing::ShortestPathCache& ways,
                             const std::vector<TracePlan>& plan, double answers_per_second) {
  // All traces to one edge switch that ask the same hops flow together, so that the fabric is walked once for
  // them and not once a pair. What asks some hops alone flows by its distance: a switch is a hop by that.
  using Asked = std::tuple<NodeId, std::optional<HopRange>, std::uint32_t>;  // to, hops, distance
  std::map<Asked, std::map<NodeId, double>> labels;                          // from
  for (const TracePlan& trace : plan) {
    const NodeId to = routing::edge_switch(fabric, trace.pair.dst);
    const NodeId from = routing::edge_switch(fabric, trace.pair.src);
    const auto distance = trace.hops ? ways.to(to).hops(from).value_or(0) : 0;
    labels[{to, trace.hops, distance}][from] += static_cast<double>(trace.labels.size());
  }
  std::vector<double> answers(fabric.node_count(), 0.0);
  for (const auto& [asked, from] : labels) {
    const auto& [to, range, distance] = asked;
    routing::ShortestPaths& way = ways.to(to);
    std::map<std::uint32_t, std::map<NodeId, double>> waves;  // by hops to go
    for (const auto& [node, count] : from)
      if (const auto hops = way.hops(node)) waves[*hops][node] += count;
    while (!waves.empty()) {
      const auto [hops, wave] = *waves.rbegin();
      waves.erase(hops);
      const bool is_asked =
          !range || (distance - hops + 1 >= range->first && distance - hops + 1 <= range->last);
      for (const auto& [node, share] : wave) {
        if (is_asked) answers[node.value()] += share;
        const auto out = way.next(node);
        for (const ChannelId channel : out)
          waves[hops - 1][fabric.target_node(channel)] += share / static_cast<double>(out.size());
      }
    }
  }
  const double most = answers.empty() ? 0 : *std::ranges::max_element(answers);
  return Nanoseconds(static_cast<std::int64_t>(most / answers_per_second * 1e9));
}

std::uint32_t labels_to_see_all(std::uint32_t paths, Fraction confidence) {
  WEFT_CHECK(confidence.value() > 0 && confidence.value() < 1);
  if (paths <= 1) return paths;
  // seen[j]: probability that j + 1 distinct paths were seen so far. All terms are positive, so that nothing
  // cancels, as it would in the closed form by inclusion and exclusion.
  std::vector<double> seen(paths, 0.0);
  seen[0] = 1.0;
  std::uint32_t labels = 1;
  for (; seen[paths - 1] < confidence.value(); ++labels)
    for (std::uint32_t j = paths; j-- > 0;) {
      const double stays = seen[j] * (j + 1) / paths;
      const double grows = j > 0 ? seen[j - 1] * (paths - j) / paths : 0.0;
      seen[j] = stays + grows;
    }
  return labels;
}

}  // namespace weft::plan
