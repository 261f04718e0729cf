#include "balancer/assign/solve_equal.hpp"

#include <algorithm>
#include <cmath>

#include "balancer/assign/chains.hpp"
#include "balancer/assign/construct.hpp"
#include "balancer/assign/mend.hpp"

namespace weft {
namespace {

constexpr double kTiny = 1e-9;
/// Ejections tried for items without a chain before the rooms are raised.
constexpr std::size_t kForcedAtLeast = 200;

double whole_items(double bytes, double weight, double quantum) {
  return std::floor(bytes / quantum * weight * (1 + kTiny) + kTiny);
}

double room_for(double bytes, double weight, double quantum) {
  return whole_items(bytes, weight, quantum) * quantum;
}

bool within_bounds(const Instance& instance, const Routes& routes, const Bounds& bounds,
                   const std::vector<Route>& taken) {
  const auto room = rooms_by_leaf(instance, routes, bounds);
  std::vector<double> load(room.size());
  const double tolerance = instance.quantum / 2;
  for (const Route& route : taken)
    for (const ChannelId channel : route.channels())
      if ((load[channel.value()] += instance.quantum) > room[channel.value()] + tolerance) return false;
  return true;
}

std::vector<ItemId> all_items(const Instance& instance) {
  std::vector<ItemId> items(instance.item_count());
  for (ItemId i = 0; i < items.size(); ++i) items[i] = i;
  return items;
}

/// The bound of the next quantum: the least bytes above `bytes` at which some used channel has more room.
double next_bound(const Instance& instance, double bytes) {
  double next = bytes * 2 + instance.quantum;
  for (const double w : instance.weight)
    if (w > 0) next = std::min(next, (whole_items(bytes, w, instance.quantum) + 1) * instance.quantum / w);
  return next;
}

}  // namespace

std::vector<double> rooms_of(const Instance& instance, double bytes) {
  std::vector<double> room;
  room.reserve(instance.weight.size());
  for (const double w : instance.weight) room.push_back(room_for(bytes, w, instance.quantum));
  return room;
}

std::vector<double> rooms_by_leaf(const Instance& instance, const Routes& routes, const Bounds& bounds) {
  auto room = rooms_of(instance, bounds.integral);
  for (std::uint32_t l = 0; l < routes.leaf_count(); ++l) {
    for (const ChannelId c : routes.uplinks(LeafId(l)))
      room[c.value()] = room_for(bounds.leaf_out[l], instance.weight[c.value()], instance.quantum);
    for (const ChannelId c : routes.downlinks(LeafId(l)))
      room[c.value()] = room_for(bounds.leaf_in[l], instance.weight[c.value()], instance.quantum);
  }
  return room;
}

std::uint64_t place_all(Placement& placement, std::vector<ItemId> loose, double bound, std::uint64_t seed) {
  Chains chains(placement, seed);
  std::uint64_t moves = 0;
  bool raised = false;
  while (true) {
    loose = mend(chains, std::move(loose), kForcedAtLeast, moves);
    if (loose.empty()) return moves;
    if (raised) bound = next_bound(placement.instance(), bound);
    placement.set_room(rooms_of(placement.instance(), bound));
    raised = true;
  }
}

std::vector<Route> solve_equal(Instance& instance, const Routes& routes,
                               const std::optional<Skeleton>& skeleton, const Bounds& bounds,
                               std::uint64_t seed) {
  std::vector<Route> wanted;
  const auto all = all_items(instance);
  if (skeleton) wanted = construct(instance, routes, *skeleton, all);
  if (skeleton && skeleton->whole() && !instance.labelled && within_bounds(instance, routes, bounds, wanted))
    return wanted;
  instance.fill_routes(routes);
  Placement placement(instance);
  placement.set_room(rooms_by_leaf(instance, routes, bounds));
  auto loose = all;
  if (skeleton) loose = put_wanted(placement, loose, wanted);
  const auto over = shed(placement);
  loose.insert(loose.end(), over.begin(), over.end());
  place_all(placement, std::move(loose), bounds.integral, seed);
  return placement.routes();
}

}  // namespace weft
