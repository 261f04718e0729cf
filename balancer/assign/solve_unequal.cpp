#include "balancer/assign/solve_unequal.hpp"

#include <limits>

#include "balancer/assign/construct.hpp"
#include "balancer/assign/even_out.hpp"
#include "balancer/assign/greedy.hpp"
#include "balancer/assign/mend.hpp"
#include "balancer/assign/squeeze.hpp"

namespace weft {
namespace {

/// The start: coloured in order of size where the fabric has the shape for it, the rest as it fits best.
void start(Placement& placement, const Routes& routes, const std::optional<Skeleton>& skeleton) {
  auto loose = by_size(placement.instance());
  if (skeleton)
    loose = put_wanted(placement, loose, construct(placement.instance(), routes, *skeleton, loose));
  for (const ItemId item : loose) place_least_loaded(placement, item);
}

}  // namespace

std::vector<SwitchRoute> solve_unequal(Instance& instance, const Routes& routes,
                                       const std::optional<Skeleton>& skeleton, const Bounds& bounds,
                                       std::uint64_t seed) {
  instance.fill_routes(routes);
  Placement placement(instance);
  start(placement, routes, skeleton);
  squeeze(placement, bounds.integral, seed);
  even_out(placement, routes,
           std::vector<double>(instance.weight.size(), std::numeric_limits<double>::infinity()), seed);
  return placement.routes();
}

}  // namespace weft
