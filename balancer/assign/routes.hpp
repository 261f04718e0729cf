// Routes: the ways through the switches between two leaves. A leaf is any switch with hosts; a route goes up
// to a switch both leaves reach and down again, by usable channels alone; of all such ways the shortest
// count, as routing protocols see it. Made once for a fabric and its capacities; holds no reference to
// either.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "balancer/assign/capacities.hpp"

namespace weft::assign {

/// Up to four channels between switches: leaf, spine, core, spine, leaf. None where both NICs share a leaf.
class SwitchRoute {
 public:
  static constexpr std::size_t kMax = 4;
  SwitchRoute() = default;
  std::span<const ChannelId> channels() const { return {channels_.data(), size_}; }
  std::size_t size() const { return size_; }
  void push(ChannelId channel) { channels_[size_++] = channel; }
  friend bool operator==(const SwitchRoute&, const SwitchRoute&) = default;

 private:
  std::array<ChannelId, kMax> channels_{};
  std::uint32_t size_ = 0;
};

/// A leaf's number in its Routes, from 0 in the order of the nodes.
using LeafId = Strong<struct LeafIdTag>;

class Routes {
 public:
  Routes(const Fabric& fabric, const Capacities& capacities);

  std::size_t leaf_count() const { return leaves_.size(); }
  NodeId node_of(LeafId leaf) const { return leaves_[leaf.value()].node; }
  /// The leaf of a NIC; absent where its cable leads to no switch.
  std::optional<LeafId> leaf_of(PortId nic) const;
  /// All shortest routes from one leaf to another; empty: cut off. One route of no channel within a leaf.
  std::vector<SwitchRoute> between(LeafId from, LeafId to) const;
  /// Whether there is any such route.
  bool connected(LeafId from, LeafId to) const;
  /// The usable channels of a leaf towards higher tiers, and from there.
  std::span<const ChannelId> uplinks(LeafId leaf) const { return leaves_[leaf.value()].uplinks; }
  std::span<const ChannelId> downlinks(LeafId leaf) const { return leaves_[leaf.value()].downlinks; }
  /// Leaves joined without a core: numbers from 0. All leaves of a two-tier fabric are in one pod.
  std::uint32_t pod_of(LeafId leaf) const { return leaves_[leaf.value()].pod; }
  std::size_t pod_count() const { return pods_.size(); }
  /// The usable channels between a pod and the cores.
  std::span<const ChannelId> core_uplinks(std::uint32_t pod) const { return pods_[pod].up; }
  std::span<const ChannelId> core_downlinks(std::uint32_t pod) const { return pods_[pod].down; }

 private:
  /// Half of a route: from a leaf up to `apex`, or from it down.
  struct Half {
    NodeId apex;
    std::uint32_t size = 0;
    std::array<ChannelId, 2> channels{};
  };
  struct Leaf {
    NodeId node;
    std::uint32_t pod = 0;
    std::vector<ChannelId> uplinks;
    std::vector<ChannelId> downlinks;
    std::vector<Half> up;  // ascending by apex
    std::vector<Half> down;
  };
  struct Pod {
    std::vector<ChannelId> up;
    std::vector<ChannelId> down;
  };

  void find_leaves(const Fabric& fabric);
  void find_pods(const Fabric& fabric, const Capacities& capacities);
  /// `climbs`: per switch, its channels upwards (or those that come down), towards `far_end`.
  template <class FarEnd>
  static std::vector<Half> halves(NodeId leaf, const std::vector<std::vector<ChannelId>>& climbs,
                                  FarEnd far_end);

  std::vector<Leaf> leaves_;
  std::vector<Pod> pods_;
  std::vector<std::optional<LeafId>> leaf_of_nic_;  // per port
};

}  // namespace weft::assign
