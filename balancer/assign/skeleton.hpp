// Skeleton: the regular shape of a Clos fabric, as cabled (a cable to avoid still belongs to it): every leaf
// has the same number of uplinks, and "uplink i" means the same spine, or the same plane, at every leaf.
// Colours of an edge colouring are these numbers. Found from the cables, so that names and annotations do not
// matter.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "balancer/assign/routes.hpp"

namespace weft::assign {

class Skeleton {
 public:
  /// Absent where the fabric is not of this shape: leaves with different uplinks, spines of a pod joined to
  /// overlapping sets of cores, parallel cables in three tiers.
  static std::optional<Skeleton> find(const Fabric& fabric, const Capacities& capacities,
                                      const Routes& routes);

  std::uint32_t colours() const { return colours_; }        // uplinks of every leaf
  std::uint32_t cores_per_plane() const { return cores_; }  // 0: all leaves are in one pod
  /// Every channel usable, and all of a tier with the same capacity: an exact colouring meets the bound.
  bool whole() const { return whole_; }

  /// The route between two leaves of one pod that takes `colour`.
  SwitchRoute inside(LeafId from, LeafId to, std::uint32_t colour) const;
  /// The route between leaves of different pods that takes plane `colour` and the plane's core `core`.
  SwitchRoute across(const Routes& routes, LeafId from, LeafId to, std::uint32_t colour,
                     std::uint32_t core) const;

 private:
  friend class SkeletonFinder;
  ChannelId up(LeafId leaf, std::uint32_t colour) const {
    return up_[std::size_t{leaf.value()} * colours_ + colour];
  }
  ChannelId core_up(std::uint32_t pod, std::uint32_t colour, std::uint32_t core) const {
    return core_up_[(std::size_t{pod} * colours_ + colour) * cores_ + core];
  }

  std::uint32_t colours_ = 0;
  std::uint32_t cores_ = 0;
  bool whole_ = true;
  std::vector<ChannelId> up_;       // leaf x colour; the way down is its reverse
  std::vector<ChannelId> core_up_;  // pod x colour x core
};

}  // namespace weft::assign
