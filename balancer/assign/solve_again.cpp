#include "balancer/assign/solve_again.hpp"

#include <numeric>

#include "balancer/assign/mend.hpp"
#include "balancer/assign/rooms.hpp"
#include "balancer/assign/squeeze.hpp"

namespace weft {
namespace {

/// Of the bound, where sizes differ and it cannot be met exactly: what the solver for those reaches.
constexpr double kGoalWhereItemsDiffer = 1.015;

}  // namespace

std::vector<SwitchRoute> solve_again(Instance& instance, const Routes& routes, const Bounds& bounds,
                                     const std::vector<std::optional<SwitchRoute>>& before,
                                     std::uint64_t seed) {
  instance.fill_routes(routes);
  Placement placement(instance);
  const double goal = instance.equal ? bounds.integral : bounds.integral * kGoalWhereItemsDiffer;
  placement.set_room(rooms_of(instance, goal));
  std::vector<ItemId> loose(instance.item_count());
  std::iota(loose.begin(), loose.end(), 0U);
  std::vector<SwitchRoute> wanted;
  for (const auto& route : before) wanted.push_back(route.value_or(SwitchRoute()));
  loose = put_wanted(placement, loose, wanted);
  const auto over = shed(placement);
  loose.insert(loose.end(), over.begin(), over.end());
  place_all(placement, std::move(loose), goal, seed);
  return placement.routes();
}

}  // namespace weft
