#include "balancer/assign/solve_equal.hpp"

#include <numeric>

#include "balancer/assign/construct.hpp"
#include "balancer/assign/even_out.hpp"
#include "balancer/assign/greedy.hpp"
#include "balancer/assign/mend.hpp"
#include "balancer/assign/rooms.hpp"
#include "balancer/assign/slow_flows.hpp"
#include "balancer/assign/squeeze.hpp"

namespace weft {
namespace {

/// Up to so many items a second start, from greedy, is worth its time: some 50 ms.
constexpr std::size_t kTwoStartsUpTo = 5000;

bool within(const Instance& instance, const std::vector<double>& room,
            const std::vector<SwitchRoute>& taken) {
  std::vector<double> load(room.size());
  const double tolerance = instance.quantum / 2;
  for (const SwitchRoute& route : taken)
    for (const ChannelId channel : route.channels())
      if ((load[channel.value()] += instance.quantum) > room[channel.value()] + tolerance) return false;
  return true;
}

/// What lacks a place gets one, what crowds a channel another; then all is evened out.
void finish(Placement& placement, std::vector<ItemId> loose, const Routes& routes,
            const std::vector<double>& room, double bound, std::uint64_t seed) {
  placement.set_room(room);
  const auto over = shed(placement);
  loose.insert(loose.end(), over.begin(), over.end());
  place_all(placement, std::move(loose), bound, seed);
  even_out(placement, routes, room, seed);
  join_slow(placement, room);
}

}  // namespace

std::vector<SwitchRoute> solve_equal(Instance& instance, const Routes& routes,
                                     const std::optional<Skeleton>& skeleton, const Bounds& bounds,
                                     std::uint64_t seed) {
  std::vector<ItemId> loose(instance.item_count());
  std::iota(loose.begin(), loose.end(), 0U);
  const auto room = rooms_by_leaf(instance, routes, bounds);
  std::vector<SwitchRoute> taken;
  if (skeleton) taken = construct(instance, routes, *skeleton, loose);
  if (!skeleton || !skeleton->whole() || instance.labelled || !within(instance, room, taken)) {
    instance.fill_routes(routes);
    Placement placement(instance);
    if (skeleton) loose = put_wanted(placement, loose, taken);
    finish(placement, std::move(loose), routes, room, bounds.integral, seed);
    taken = placement.routes();
    if (instance.item_count() <= kTwoStartsUpTo) {
      Placement other(instance);
      for (const ItemId item : by_size(instance)) place_least_loaded(other, item);
      finish(other, {}, routes, room, bounds.integral, seed);
      if (evenness_of(other).better_than(evenness_of(placement))) taken = other.routes();
    }
  }
  gather_slow(instance, taken);
  return taken;
}

}  // namespace weft
