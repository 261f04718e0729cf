#include "balancer/assign/routes.hpp"

#include <algorithm>

#include "topology/base/disjoint_sets.hpp"
#include "topology/model/fabric.hpp"

namespace weft::assign {
namespace {

/// The channels from a switch to switches of higher tiers; with `reversed`, the channels that come back.
std::vector<ChannelId> climbing(const Fabric& fabric, const Capacities& capacities, NodeId node,
                                bool reversed) {
  std::vector<ChannelId> found;
  for (const ChannelId leaving : fabric.channels_from(node)) {
    const ChannelId channel = reversed ? Fabric::reverse(leaving) : leaving;
    if (fabric.node(fabric.target_node(leaving)).tier > fabric.node(node).tier && capacities.usable(channel))
      found.push_back(channel);
  }
  return found;
}

/// The same for every switch, indexed by node.
std::vector<std::vector<ChannelId>> climbing_of_all(const Fabric& fabric, const Capacities& capacities,
                                                    bool reversed) {
  std::vector<std::vector<ChannelId>> all(fabric.node_count());
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n)
    if (!fabric.is_host(NodeId(n))) all[n] = climbing(fabric, capacities, NodeId(n), reversed);
  return all;
}

bool is_below_core(const Fabric& fabric, NodeId node) {
  return !fabric.is_host(node) && fabric.node(node).tier < Tier::core;
}

}  // namespace

template <class FarEnd>
std::vector<Routes::Half> Routes::halves(NodeId leaf, const std::vector<std::vector<ChannelId>>& climbs,
                                         FarEnd far_end) {
  std::vector<Half> found{Half{.apex = leaf}};
  for (const ChannelId first : climbs[leaf.value()]) {
    const NodeId spine = far_end(first);
    found.push_back({spine, 1, {first, {}}});
    for (const ChannelId second : climbs[spine.value()])
      found.push_back({far_end(second), 2, {first, second}});
  }
  std::ranges::stable_sort(found, {}, &Half::apex);
  return found;
}

Routes::Routes(const Fabric& fabric, const Capacities& capacities) {
  find_leaves(fabric);
  const auto up = climbing_of_all(fabric, capacities, false);
  const auto down = climbing_of_all(fabric, capacities, true);
  for (Leaf& leaf : leaves_) {
    leaf.uplinks = up[leaf.node.value()];
    leaf.downlinks = down[leaf.node.value()];
    leaf.up = halves(leaf.node, up, [&](ChannelId c) { return fabric.target_node(c); });
    leaf.down = halves(leaf.node, down, [&](ChannelId c) { return fabric.source_node(c); });
  }
  find_pods(fabric, capacities);
}

void Routes::find_leaves(const Fabric& fabric) {
  std::vector<std::optional<LeafId>> leaf_of_node(fabric.node_count());
  std::vector<bool> has_hosts(fabric.node_count());
  for (const PortId nic : fabric.nics())
    has_hosts[fabric.target_node(*fabric.channel_from(nic)).value()] = true;
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
    if (!has_hosts[n] || fabric.is_host(NodeId(n))) continue;
    leaf_of_node[n] = LeafId(static_cast<std::uint32_t>(leaves_.size()));
    leaves_.push_back(Leaf{.node = NodeId(n)});
  }
  leaf_of_nic_.resize(fabric.port_count());
  for (const PortId nic : fabric.nics())
    leaf_of_nic_[nic.value()] = leaf_of_node[fabric.target_node(*fabric.channel_from(nic)).value()];
}

/// Pods are what the cables join below the cores, dead or alive, so that a failure makes no new pod.
void Routes::find_pods(const Fabric& fabric, const Capacities& capacities) {
  DisjointSets groups(fabric.node_count());
  for (const Link& link : fabric.links()) {
    const NodeId a = fabric.port(link.a).node;
    const NodeId b = fabric.port(link.b).node;
    if (is_below_core(fabric, a) && is_below_core(fabric, b)) groups.join(a.value(), b.value());
  }
  std::vector<std::optional<std::uint32_t>> pod_of_root(fabric.node_count());
  for (Leaf& leaf : leaves_) {
    auto& pod = pod_of_root[groups.root(leaf.node.value())];
    if (!pod) {
      pod = static_cast<std::uint32_t>(pods_.size());
      pods_.emplace_back();
    }
    leaf.pod = *pod;
  }
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) {
    const ChannelId channel(c);
    const NodeId from = fabric.source_node(channel);
    if (!capacities.usable(channel) || !is_below_core(fabric, from)) continue;
    if (fabric.node(fabric.target_node(channel)).tier != Tier::core) continue;
    if (const auto pod = pod_of_root[groups.root(from.value())]) pods_[*pod].up.push_back(channel);
  }
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) {
    const ChannelId channel(c);
    const NodeId to = fabric.target_node(channel);
    if (!capacities.usable(channel) || !is_below_core(fabric, to)) continue;
    if (fabric.node(fabric.source_node(channel)).tier != Tier::core) continue;
    if (const auto pod = pod_of_root[groups.root(to.value())]) pods_[*pod].down.push_back(channel);
  }
}

std::optional<LeafId> Routes::leaf_of(PortId nic) const { return leaf_of_nic_[nic.value()]; }

bool Routes::connected(LeafId from, LeafId to) const {
  const auto& ups = leaves_[from.value()].up;
  const auto& downs = leaves_[to.value()].down;
  auto up = ups.begin();
  auto down = downs.begin();
  while (up != ups.end() && down != downs.end()) {
    if (up->apex == down->apex) return true;
    up->apex < down->apex ? ++up : ++down;
  }
  return false;
}

std::vector<SwitchRoute> Routes::between(LeafId from, LeafId to) const {
  if (from == to) return {SwitchRoute()};
  const auto& ups = leaves_[from.value()].up;
  const auto& downs = leaves_[to.value()].down;
  std::vector<SwitchRoute> found;
  std::uint32_t shortest = SwitchRoute::kMax + 1;
  const auto add = [&](const Half& up, const Half& down) {
    const std::uint32_t length = up.size + down.size;
    if (length > shortest) return;
    if (length < shortest) found.clear();
    shortest = length;
    SwitchRoute& route = found.emplace_back();
    for (std::uint32_t i = 0; i < up.size; ++i) route.push(up.channels[i]);
    for (std::uint32_t i = down.size; i > 0; --i) route.push(down.channels[i - 1]);
  };
  auto down = downs.begin();
  for (const Half& up : ups) {
    while (down != downs.end() && down->apex < up.apex) ++down;
    for (auto at = down; at != downs.end() && at->apex == up.apex; ++at) add(up, *at);
  }
  return found;
}

}  // namespace weft::assign
