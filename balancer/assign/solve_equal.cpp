#include "balancer/assign/solve_equal.hpp"

#include <numeric>

#include "balancer/assign/construct.hpp"
#include "balancer/assign/mend.hpp"
#include "balancer/assign/rooms.hpp"
#include "balancer/assign/squeeze.hpp"

namespace weft {
namespace {

bool within(const Instance& instance, const std::vector<double>& room,
            const std::vector<SwitchRoute>& taken) {
  std::vector<double> load(room.size());
  const double tolerance = instance.quantum / 2;
  for (const SwitchRoute& route : taken)
    for (const ChannelId channel : route.channels())
      if ((load[channel.value()] += instance.quantum) > room[channel.value()] + tolerance) return false;
  return true;
}

}  // namespace

std::vector<SwitchRoute> solve_equal(Instance& instance, const Routes& routes,
                                     const std::optional<Skeleton>& skeleton, const Bounds& bounds,
                                     std::uint64_t seed) {
  std::vector<ItemId> loose(instance.item_count());
  std::iota(loose.begin(), loose.end(), 0U);
  const auto room = rooms_by_leaf(instance, routes, bounds);
  std::vector<SwitchRoute> wanted;
  if (skeleton) wanted = construct(instance, routes, *skeleton, loose);
  if (skeleton && skeleton->whole() && !instance.labelled && within(instance, room, wanted)) return wanted;
  instance.fill_routes(routes);
  Placement placement(instance);
  placement.set_room(room);
  if (skeleton) loose = put_wanted(placement, loose, wanted);
  const auto over = shed(placement);
  loose.insert(loose.end(), over.begin(), over.end());
  place_all(placement, std::move(loose), bounds.integral, seed);
  return placement.routes();
}

}  // namespace weft
