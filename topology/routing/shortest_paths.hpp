// ShortestPaths: which channels lead from a node towards a switch by the fewest hops, over the fabric as
// designed. Hosts do not forward. ShortestPathCache keeps one per target; not thread-safe.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "topology/base/ids.hpp"

namespace weft {
class Fabric;
}

namespace weft::routing {

class ShortestPaths {
 public:
  /// Precondition: `target` is a switch of `fabric`, which must outlive this.
  ShortestPaths(const Fabric& fabric, NodeId target);

  /// Links between `node` and the target; absent: no way.
  std::optional<std::uint32_t> hops(NodeId node) const;
  /// The channels that leave `node` for a neighbour one hop nearer to the target, in the order of its ports.
  std::span<const ChannelId> next(NodeId node);

 private:
  static constexpr std::uint16_t kNoWay = std::numeric_limits<std::uint16_t>::max();
  const Fabric* fabric_;
  std::vector<std::uint16_t> hops_;
  std::vector<std::optional<std::vector<ChannelId>>> next_;  // filled when first asked
};

class ShortestPathCache {
 public:
  explicit ShortestPathCache(const Fabric& fabric) : fabric_(&fabric) {}
  ShortestPaths& to(NodeId target);

 private:
  const Fabric* fabric_;
  std::unordered_map<NodeId, ShortestPaths> by_target_;
};

/// The switch a NIC's cable ends at. Precondition: the port has a cable.
NodeId edge_switch(const Fabric& fabric, PortId nic);

}  // namespace weft::routing
