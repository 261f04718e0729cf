#include "balancer/assign/construct.hpp"

#include "balancer/assign/edge_coloring.hpp"

namespace weft::assign {
namespace {

/// The core of every item that changes pods, by a colouring per plane.
std::vector<std::uint32_t> cores_of(const Instance& instance, const Routes& routes, const Skeleton& skeleton,
                                    const std::vector<ItemId>& order,
                                    const std::vector<std::uint32_t>& plane) {
  std::vector<std::uint32_t> core(instance.item_count(), 0);
  for (std::uint32_t p = 0; p < skeleton.colours(); ++p) {
    std::vector<BipartiteEdge> edges;
    std::vector<ItemId> items;
    for (const ItemId item : order) {
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

std::vector<SwitchRoute> construct(const Instance& instance, const Routes& routes, const Skeleton& skeleton,
                                   const std::vector<ItemId>& order) {
  std::vector<BipartiteEdge> edges;
  edges.reserve(order.size());
  for (const ItemId item : order) {
    const FlowGroup& group = instance.groups[instance.crossing_of(item).group];
    edges.push_back({group.from.value(), group.to.value()});
  }
  const auto colour_in_order = color_edges(edges, skeleton.colours());
  std::vector<std::uint32_t> colour(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) colour[order[i]] = colour_in_order[i];
  std::vector<std::uint32_t> core;
  if (skeleton.cores_per_plane() > 0) core = cores_of(instance, routes, skeleton, order, colour);
  std::vector<SwitchRoute> taken;
  taken.reserve(order.size());
  for (ItemId item = 0; item < order.size(); ++item) {
    const FlowGroup& group = instance.groups[instance.crossing_of(item).group];
    taken.push_back(routes.pod_of(group.from) == routes.pod_of(group.to)
                        ? skeleton.inside(group.from, group.to, colour[item])
                        : skeleton.across(routes, group.from, group.to, colour[item], core[item]));
  }
  return taken;
}

}  // namespace weft::assign
