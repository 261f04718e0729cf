#include "probes/diagnosis/counts/limit_of_all.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace weft::diagnosis {
namespace {

/// Of three hosts any two at fault harm all packets, which makes a set of three. Of more it is a fault the
/// less for each, and what all paths share is the likelier.
constexpr std::size_t kManyHosts = 4;

/// The least size from which on all is harmed, and the size below it.
std::optional<LimitOfAll> limit_of(const Observations& observations, Counted counted) {
  std::map<Bytes, Counts> by_size;
  for (const Observation& probe : observations.probes) {
    const Counts counts = counts_of(probe, counted);
    if (counts.n == 0) continue;
    by_size[probe.size].n += counts.n;
    by_size[probe.size].k += counts.k;
  }
  LimitOfAll limit;
  for (auto at = by_size.rbegin(); at != by_size.rend(); ++at) {
    limit.below = at->first;
    if (at->second.k < at->second.n) break;
    limit.from = at->first;
    limit.harmed += at->second.k;
  }
  if (limit.harmed == 0 || limit.below >= limit.from) return std::nullopt;
  return limit;
}

}  // namespace

std::optional<LimitOfAll> limit_of_all(const Fabric& fabric, const Observations& observations,
                                       Counted counted) {
  const auto limit = limit_of(observations, counted);
  if (!limit) return std::nullopt;
  std::set<NodeId> hosts;
  std::vector<std::size_t> crossed(fabric.channel_count() + fabric.node_count(), 0);
  std::size_t large = 0;
  const PathTable& table = observations.paths;
  for (const Observation& probe : observations.probes) {
    if (probe.size < limit->from || counts_of(probe, counted).n == 0) continue;
    ++large;
    std::set<std::size_t> its;
    for (const PathId path : table.paths(probe.path))
      for (const ChannelId channel : table.channels(path))
        for (const NodeId node : {fabric.source_node(channel), fabric.target_node(channel)}) {
          its.insert({channel.value(), fabric.channel_count() + node.value()});
          if (fabric.is_host(node)) hosts.insert(node);
        }
    for (const std::size_t place : its) ++crossed[place];
  }
  if (hosts.size() < kManyHosts || std::ranges::find(crossed, large) != crossed.end()) return std::nullopt;
  return limit;
}

}  // namespace weft::diagnosis
