#include "balancer/assign/construct.hpp"

#include "balancer/assign/edge_coloring.hpp"

namespace weft {
namespace {

/// The core of every item that changes pods, by a colouring per plane.
std::vector<std::uint32_t> cores_of(const Instance& instance, const Routes& routes, const Skeleton& skeleton,
                                    const std::vector<std::uint32_t>& plane) {
  std::vector<std::uint32_t> core(instance.item_count(), 0);
  for (std::uint32_t p = 0; p < skeleton.colours(); ++p) {
    std::vector<BipartiteEdge> edges;
    std::vector<ItemId> items;
    for (ItemId item = 0; item < plane.size(); ++item) {
      const FlowGroup& group = instance.groups[instance.crossing_of(item).group];
      const BipartiteEdge pods{routes.pod_of(group.from), routes.pod_of(group.to)};
      if (plane[item] != p || pods.left == pods.right) continue;
      edges.push_back(pods);
      items.push_back(item);
    }
    const auto colour = color_edges(edges, skeleton.cores_per_plane());
    for (std::size_t i = 0; i < items.size(); ++i) core[items[i]] = colour[i];
  }
  return core;
}

}  // namespace

std::vector<Route> construct(const Instance& instance, const Routes& routes, const Skeleton& skeleton) {
  std::vector<BipartiteEdge> edges;
  edges.reserve(instance.item_count());
  for (const Crossing& crossing : instance.crossings) {
    const FlowGroup& group = instance.groups[crossing.group];
    edges.insert(edges.end(), instance.qps, {group.from.value(), group.to.value()});
  }
  const auto colour = color_edges(edges, skeleton.colours());
  std::vector<std::uint32_t> core;
  if (skeleton.cores_per_plane() > 0) core = cores_of(instance, routes, skeleton, colour);
  std::vector<Route> taken;
  taken.reserve(edges.size());
  for (ItemId item = 0; item < edges.size(); ++item) {
    const LeafId from(edges[item].left);
    const LeafId to(edges[item].right);
    taken.push_back(routes.pod_of(from) == routes.pod_of(to)
                        ? skeleton.inside(from, to, colour[item])
                        : skeleton.across(routes, from, to, colour[item], core[item]));
  }
  return taken;
}

}  // namespace weft
