#include "collectors/metrics/channel_groups.hpp"

#include <algorithm>

namespace weft::metrics {
namespace {

void add(GroupSums& sums, const watch::ChannelState& channel) {
  sums.sent += channel.sent_in_all;
  sums.lost += channel.lost_in_all;
  const auto verdict = channel.fresh ? channel.verdict : Verdict::unknown;
  ++sums.channels.at(static_cast<std::size_t>(verdict));
}

}  // namespace

ChannelGroups grouped(const Fabric& fabric, const std::vector<watch::ChannelState>& channels) {
  ChannelGroups groups;
  // By tiers and rails first by small keys: names would be made for each of 147,456 channels.
  std::map<std::tuple<Tier, Tier, bool>, GroupSums> tiers;
  std::map<std::pair<std::size_t, bool>, GroupSums> rails;
  std::vector<GroupSums> leaves(fabric.node_count());
  for (std::uint32_t c = 0; c < channels.size(); ++c) {
    const ChannelId id(c);
    const auto from = fabric.source_node(id), to = fabric.target_node(id);
    const Tier low = std::min(fabric.node(from).tier, fabric.node(to).tier);
    const Tier high = std::max(fabric.node(from).tier, fabric.node(to).tier);
    const bool up = fabric.node(from).tier == low;
    add(tiers[{low, high, up}], channels[c]);
    for (const NodeId end : {from, to})
      if (fabric.node(end).tier == Tier::leaf) add(leaves[end.value()], channels[c]);
    if (low != Tier::host) continue;
    const PortId nic = up ? fabric.source(id) : fabric.target(id);
    const auto ports = fabric.ports_of(fabric.port(nic).node);
    add(rails[{static_cast<std::size_t>(std::ranges::find(ports, nic) - ports.begin()), up}], channels[c]);
  }
  const auto direction = [](bool up) { return up ? "up" : "down"; };
  for (const auto& [key, sums] : tiers)
    groups.by_tier[{fmt::format("{}-{}", to_string(std::get<0>(key)), to_string(std::get<1>(key))),
                    direction(std::get<2>(key))}] = sums;
  for (const auto& [key, sums] : rails)
    groups.by_rail[{std::to_string(key.first + 1), direction(key.second)}] = sums;
  for (std::uint32_t n = 0; n < leaves.size(); ++n)
    if (fabric.node(NodeId(n)).tier == Tier::leaf) groups.by_leaf[fabric.node(NodeId(n)).name] = leaves[n];
  return groups;
}

}  // namespace weft::metrics
