#include "topology/routing/shortest_paths.hpp"

#include <deque>

#include "topology/base/check.hpp"
#include "topology/model/fabric.hpp"

namespace weft::routing {

ShortestPaths::ShortestPaths(const Fabric& fabric, NodeId target)
    : fabric_(&fabric), hops_(fabric.node_count(), kNoWay), next_(fabric.node_count()) {
  WEFT_CHECK(!fabric.is_host(target));
  hops_[target.value()] = 0;
  std::deque<NodeId> open{target};
  while (!open.empty()) {
    const NodeId node = open.front();
    open.pop_front();
    if (fabric.is_host(node)) continue;
    for (const ChannelId leaving : fabric.channels_from(node)) {
      auto& hops = hops_[fabric.target_node(leaving).value()];
      if (hops != kNoWay) continue;
      hops = static_cast<std::uint16_t>(hops_[node.value()] + 1);
      open.push_back(fabric.target_node(leaving));
    }
  }
}

std::optional<std::uint32_t> ShortestPaths::hops(NodeId node) const {
  const auto hops = hops_[node.value()];
  return hops == kNoWay ? std::nullopt : std::optional<std::uint32_t>(hops);
}

std::span<const ChannelId> ShortestPaths::next(NodeId node) {
  auto& known = next_[node.value()];
  if (known) return *known;
  known.emplace();
  for (const ChannelId leaving : fabric_->channels_from(node)) {
    if (fabric_->is_host(fabric_->target_node(leaving))) continue;
    const auto there = hops(fabric_->target_node(leaving));
    if (there && hops(node) == *there + 1) known->push_back(leaving);
  }
  return *known;
}

ShortestPaths& ShortestPathCache::to(NodeId target) {
  return by_target_.try_emplace(target, *fabric_, target).first->second;
}

NodeId edge_switch(const Fabric& fabric, PortId nic) {
  const auto leaving = fabric.channel_from(nic);
  WEFT_CHECK(leaving.has_value());
  return fabric.target_node(*leaving);
}

}  // namespace weft::routing
