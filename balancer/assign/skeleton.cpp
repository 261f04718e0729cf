#include "balancer/assign/skeleton.hpp"

#include <algorithm>
#include <map>

#include "topology/model/fabric.hpp"

namespace weft::assign {
namespace {

struct Cable {
  NodeId above;
  ChannelId up;
};

/// The cables from a switch to higher tiers, by the switch above, then port.
std::vector<Cable> cables_up(const Fabric& fabric, NodeId node) {
  std::vector<Cable> found;
  for (const ChannelId up : fabric.channels_from(node)) {
    const NodeId above = fabric.target_node(up);
    if (!fabric.is_host(above) && fabric.node(above).tier > fabric.node(node).tier)
      found.push_back({above, up});
  }
  std::ranges::stable_sort(found, {}, &Cable::above);
  return found;
}

std::vector<NodeId> nodes_above(const std::vector<Cable>& cables) {
  std::vector<NodeId> nodes;
  for (const Cable& cable : cables) nodes.push_back(cable.above);
  return nodes;
}

}  // namespace

class SkeletonFinder {
 public:
  SkeletonFinder(const Fabric& fabric, const Capacities& capacities, const Routes& routes)
      : fabric_(fabric), capacities_(capacities), routes_(routes) {}

  std::optional<Skeleton> find() && {
    if (routes_.leaf_count() == 0 || !find_uplinks()) return std::nullopt;
    if (routes_.pod_count() > 1 && !find_planes()) return std::nullopt;
    check_whole(found_.up_);
    check_whole(found_.core_up_);
    return std::move(found_);
  }

 private:
  /// Every leaf of a pod must reach the same spines by the same number of cables each.
  bool find_uplinks() {
    spines_.resize(routes_.pod_count());
    std::vector<bool> pod_seen(routes_.pod_count());
    for (std::uint32_t l = 0; l < routes_.leaf_count(); ++l) {
      const auto cables = cables_up(fabric_, routes_.node_of(LeafId(l)));
      const std::uint32_t pod = routes_.pod_of(LeafId(l));
      if (!pod_seen[pod]) spines_[pod] = nodes_above(cables);
      pod_seen[pod] = true;
      if (l == 0) found_.colours_ = static_cast<std::uint32_t>(cables.size());
      if (cables.empty() || cables.size() != found_.colours_ || nodes_above(cables) != spines_[pod])
        return false;
      for (const Cable& cable : cables) found_.up_.push_back(cable.up);
    }
    return true;
  }

  /// Spines of different pods that reach the same cores are one plane; a pod has one spine in each.
  bool find_planes() {
    std::map<std::vector<NodeId>, std::uint32_t> planes;
    std::vector<bool> core_taken(fabric_.node_count());
    std::vector<std::vector<std::uint32_t>> plane_of(routes_.pod_count());
    for (std::uint32_t pod = 0; pod < routes_.pod_count(); ++pod)
      for (const NodeId spine : spines_[pod]) {
        const auto cores = nodes_above(cables_up(fabric_, spine));
        if (cores.empty() || std::ranges::adjacent_find(cores) != cores.end()) return false;
        if (planes.empty()) found_.cores_ = static_cast<std::uint32_t>(cores.size());
        if (cores.size() != found_.cores_) return false;
        const auto [at, is_new] = planes.try_emplace(cores, static_cast<std::uint32_t>(planes.size()));
        if (is_new)
          for (const NodeId core : cores) {
            if (core_taken[core.value()]) return false;
            core_taken[core.value()] = true;
          }
        plane_of[pod].push_back(at->second);
      }
    if (planes.size() != found_.colours_) return false;
    return order_by_plane(plane_of);
  }

  bool order_by_plane(const std::vector<std::vector<std::uint32_t>>& plane_of) {
    const std::uint32_t n = found_.colours_;
    std::vector<ChannelId> up(found_.up_.size());
    found_.core_up_.resize(routes_.pod_count() * std::size_t{n} * found_.cores_);
    for (std::uint32_t pod = 0; pod < routes_.pod_count(); ++pod) {
      std::vector<bool> taken(n);
      for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint32_t plane = plane_of[pod][i];
        if (taken[plane]) return false;
        taken[plane] = true;
        const auto cables = cables_up(fabric_, spines_[pod][i]);
        for (std::uint32_t core = 0; core < found_.cores_; ++core)
          found_.core_up_[(std::size_t{pod} * n + plane) * found_.cores_ + core] = cables[core].up;
      }
    }
    for (std::uint32_t l = 0; l < routes_.leaf_count(); ++l)
      for (std::uint32_t i = 0; i < n; ++i)
        up[std::size_t{l} * n + plane_of[routes_.pod_of(LeafId(l))][i]] = found_.up_[std::size_t{l} * n + i];
    found_.up_ = std::move(up);
    return true;
  }

  void check_whole(const std::vector<ChannelId>& tier) {
    for (const ChannelId channel : tier)
      for (const ChannelId each : {channel, Fabric::reverse(channel)})
        found_.whole_ =
            found_.whole_ && capacities_.usable(each) && capacities_[each] == capacities_[tier.front()];
  }

  const Fabric& fabric_;
  const Capacities& capacities_;
  const Routes& routes_;
  Skeleton found_;
  std::vector<std::vector<NodeId>> spines_;  // per pod, in the order of its leaves' cables
};

std::optional<Skeleton> Skeleton::find(const Fabric& fabric, const Capacities& capacities,
                                       const Routes& routes) {
  return SkeletonFinder(fabric, capacities, routes).find();
}

SwitchRoute Skeleton::inside(LeafId from, LeafId to, std::uint32_t colour) const {
  SwitchRoute route;
  route.push(up(from, colour));
  route.push(Fabric::reverse(up(to, colour)));
  return route;
}

SwitchRoute Skeleton::across(const Routes& routes, LeafId from, LeafId to, std::uint32_t colour,
                             std::uint32_t core) const {
  SwitchRoute route;
  route.push(up(from, colour));
  route.push(core_up(routes.pod_of(from), colour, core));
  route.push(Fabric::reverse(core_up(routes.pod_of(to), colour, core)));
  route.push(Fabric::reverse(up(to, colour)));
  return route;
}

}  // namespace weft::assign
