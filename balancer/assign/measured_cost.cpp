#include "balancer/assign/measured_cost.hpp"

#include <algorithm>
#include <map>

#include "topology/base/statistics.hpp"
#include "topology/model/fabric.hpp"

namespace weft::assign {
namespace {

constexpr std::size_t kChannelsWithinALeaf = 2;

std::optional<Bandwidth> carried_by_a_link(const Fabric& fabric, const Observations& seen) {
  std::map<std::pair<std::uint32_t, ChannelId>, double> arrived;  // bits/s, by round and channel
  for (const LoadObservation& load : seen.loads) {
    const auto paths = seen.paths.paths(load.path);
    if (load.sender_stalled || paths.size() != 1) continue;
    for (const ChannelId channel : seen.paths.channels(paths[0]))
      if (!fabric.is_host(fabric.source_node(channel)) && !fabric.is_host(fabric.target_node(channel)))
        arrived[{load.round, channel}] += load.delivered.bits_per_second();
  }
  std::map<ChannelId, double> most;
  for (const auto& [where, rate] : arrived) most[where.second] = std::max(most[where.second], rate);
  std::vector<double> rates;
  for (const auto& [channel, rate] : most)
    if (rate > 0) rates.push_back(rate);
  if (rates.empty()) return std::nullopt;
  return Bandwidth::bit(median(rates));
}

}  // namespace

Result<MeasuredCost> measured_cost(const Fabric& fabric, const Observations& seen) {
  std::vector<Nanoseconds> in_leaf, across;
  std::optional<Bytes> smallest;
  for (const Observation& probe : seen.probes)
    if (probe.rtt && (!smallest || probe.size < *smallest)) smallest = probe.size;
  for (const Observation& probe : seen.probes) {
    if (!probe.rtt || probe.size != *smallest) continue;
    const auto any_path = seen.paths.paths(probe.path)[0];
    const bool within = seen.paths.channels(any_path).size() <= kChannelsWithinALeaf;
    (within ? in_leaf : across).push_back(probe.rtt->p50 / 2);
  }
  if (in_leaf.empty() && across.empty())
    return fail(ErrorKind::usage, "the observations hold no round-trip times: take them from a sweep");
  if (in_leaf.empty()) in_leaf = across;
  if (across.empty()) across = in_leaf;
  return MeasuredCost{median(in_leaf), median(across), carried_by_a_link(fabric, seen)};
}

}  // namespace weft::assign
