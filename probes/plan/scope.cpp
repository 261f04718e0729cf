#include "probes/plan/scope.hpp"

#include <map>

#include "topology/model/fabric.hpp"
#include "topology/routing/shortest_paths.hpp"

namespace weft::plan {
namespace {

bool cross_everything(const Fabric& fabric, const std::vector<bool>& used, const std::vector<NicPair>& pairs,
                      const ChannelsOfPair& channels) {
  std::vector<bool> crossed(fabric.channel_count(), false);
  for (const NicPair& pair : pairs)
    for (const ChannelId channel : channels(pair)) crossed[channel.value()] = true;
  for (std::uint32_t c = 0; c < crossed.size(); ++c)
    if (used[c] && !crossed[c] && fabric.between_switches(ChannelId(c))) return false;
  return true;
}

void add_both(std::vector<bool>& scope, ChannelId channel) {
  scope[channel.value()] = scope[Fabric::reverse(channel).value()] = true;
}

/// Marks what leads from `from` towards the target of `ways`; `seen`: by node, whose ways on are marked.
void add_ways(const Fabric& fabric, routing::ShortestPaths& ways, NodeId from, std::vector<bool>& seen,
              std::vector<bool>& scope) {
  std::vector<NodeId> open{from};
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    if (seen[node.value()]) continue;
    seen[node.value()] = true;
    for (const ChannelId channel : ways.next(node)) {
      scope[channel.value()] = true;
      open.push_back(fabric.target_node(channel));
    }
  }
}

}  // namespace

std::vector<NicPair> choose_table_pairs(const Fabric& fabric, const std::vector<bool>& used,
                                        std::size_t labels, const ChannelsOfPair& channels,
                                        const std::vector<PortId>& without) {
  auto partners = default_partners(fabric, without);
  auto pairs = choose_pairs(fabric, partners, without);
  while (partners < fabric.nics().size() && 2 * pairs.size() * labels <= kMaxTableRoutes &&
         !cross_everything(fabric, used, pairs, channels)) {
    partners *= 2;
    pairs = choose_pairs(fabric, partners, without);
  }
  return pairs;
}

std::vector<bool> channels_in_scope(const Fabric& fabric, std::span<const PortId> nics) {
  std::map<NodeId, std::vector<PortId>> by_edge;
  for (const PortId nic : nics)
    if (const NodeId edge = routing::edge_switch(fabric, nic); !fabric.is_host(edge))
      by_edge[edge].push_back(nic);
  std::vector<bool> scope(fabric.channel_count(), false);
  for (const auto& [target, here] : by_edge) {
    routing::ShortestPaths ways(fabric, target);
    std::vector<bool> seen(fabric.node_count(), false);
    bool reached = here.size() > 1;
    for (const auto& [source, others] : by_edge) {
      if (source == target || !ways.hops(source)) continue;
      reached = true;
      add_ways(fabric, ways, source, seen, scope);
    }
    for (const PortId nic : here)
      if (reached) add_both(scope, *fabric.channel_from(nic));
  }
  return scope;
}

std::vector<bool> channels_in_scope(const Fabric& fabric, std::span<const PortId> nics,
                                    const ChannelsOfPair& ways) {
  std::vector<bool> scope(fabric.channel_count(), false);
  for (const PortId src : nics)
    for (const PortId dst : nics) {
      if (src == dst) continue;
      add_both(scope, *fabric.channel_from(src));
      for (const ChannelId channel : ways({src, dst})) scope[channel.value()] = true;
    }
  return scope;
}

}  // namespace weft::plan
