#include "topology/lab/netns/routes.hpp"

#include <algorithm>
#include <limits>

#include "topology/model/fabric.hpp"

namespace weft::lab {
namespace {

constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max() - 1;

bool has_hosts(const Fabric& fabric, NodeId node) {
  return std::ranges::any_of(fabric.channels_from(node),
                             [&](ChannelId leaving) { return fabric.is_host(fabric.target_node(leaving)); });
}

/// Distances to one switch over paths that go up and then down.
class Distances {
 public:
  Distances(const Fabric& fabric, std::span<const NodeId> from_top, NodeId to)
      : fabric_(fabric), down_(fabric.node_count(), kFar), any_(fabric.node_count(), kFar) {
    down_[to.value()] = any_[to.value()] = 0;
    // Going down reaches `to` from above only: the lowest tiers know first.
    for (auto node = from_top.rbegin(); node != from_top.rend(); ++node)
      lower(down_[node->value()], nearest(*node, down_, Direction::down));
    for (const NodeId node : from_top) {
      std::uint32_t& best = any_[node.value()];
      lower(best, down_[node.value()]);
      if (best == kFar) lower(best, nearest(node, any_, Direction::up));
    }
  }

  /// The ports of `node` that lie on a shortest path.
  std::vector<PortId> ports(NodeId node) const {
    const bool falls = down_[node.value()] != kFar;
    const auto& table = falls ? down_ : any_;
    const Direction direction = falls ? Direction::down : Direction::up;
    std::vector<PortId> result;
    if (any_[node.value()] >= kFar) return result;
    for (const PortId port : fabric_.ports_of(node)) {
      const auto next = neighbour(port, direction);
      if (next && table[next->value()] + 1 == table[node.value()]) result.push_back(port);
    }
    return result;
  }

 private:
  enum class Direction { up, down };

  static void lower(std::uint32_t& value, std::uint32_t candidate) { value = std::min(value, candidate); }

  /// The switch at the other end of a port, if it lies in that direction.
  std::optional<NodeId> neighbour(PortId port, Direction direction) const {
    const auto leaving = fabric_.channel_from(port);
    if (!leaving) return std::nullopt;
    const NodeId other = fabric_.target_node(*leaving);
    if (fabric_.is_host(other)) return std::nullopt;
    const Tier here = fabric_.node(fabric_.port(port).node).tier;
    const Tier there = fabric_.node(other).tier;
    const bool fits = direction == Direction::up ? there > here : there < here;
    return fits ? std::optional(other) : std::nullopt;
  }

  std::uint32_t nearest(NodeId node, const std::vector<std::uint32_t>& table, Direction direction) const {
    std::uint32_t best = kFar;
    for (const PortId port : fabric_.ports_of(node))
      if (const auto next = neighbour(port, direction)) lower(best, std::min(kFar, table[next->value()] + 1));
    return best;
  }

  const Fabric& fabric_;
  std::vector<std::uint32_t> down_;  // per node: hops going down only
  std::vector<std::uint32_t> any_;   // per node: hops going up, then down
};

std::vector<NodeId> switches_from_top(const Fabric& fabric) {
  std::vector<NodeId> switches;
  for (std::uint32_t i = 0; i < fabric.node_count(); ++i)
    if (!fabric.is_host(NodeId(i))) switches.emplace_back(i);
  std::ranges::stable_sort(switches, std::greater{}, [&](NodeId id) { return fabric.node(id).tier; });
  return switches;
}

Result<void> refuse_joined_hosts(const Fabric& fabric) {
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
    const Link& link = fabric.link(LinkId(i));
    if (fabric.is_host(fabric.port(link.a).node) && fabric.is_host(fabric.port(link.b).node))
      return fail(ErrorKind::not_supported, "link {} joins two hosts: a lab joins hosts by switches only",
                  fabric.name_of(LinkId(i)));
  }
  return {};
}

}  // namespace

Result<std::vector<std::vector<HostRoute>>> host_routes(const Fabric& fabric) {
  WEFT_TRY_VOID(refuse_joined_hosts(fabric));
  const std::vector<NodeId> switches = switches_from_top(fabric);
  std::vector<std::vector<HostRoute>> routes(fabric.node_count());
  std::vector<bool> with_hosts(fabric.node_count());
  for (const NodeId node : switches) with_hosts[node.value()] = has_hosts(fabric, node);
  for (std::uint32_t i = 0; i < fabric.node_count(); ++i) {
    const NodeId to(i);
    if (!with_hosts[i]) continue;
    const Distances distances(fabric, switches, to);
    for (const NodeId node : switches) {
      if (node == to) continue;
      auto ports = distances.ports(node);
      if (!ports.empty()) {
        routes[node.value()].push_back({to, std::move(ports)});
      } else if (with_hosts[node.value()]) {
        return fail(
            ErrorKind::not_supported,
            "no path from {} up and down to {}: a lab needs a Clos fabric (leaf, spine, core) in which "
            "all hosts reach each other",
            fabric.name_of(node), fabric.name_of(to));
      }
    }
  }
  return routes;
}

}  // namespace weft::lab
