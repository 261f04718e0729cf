#include "balancer/assign/solve_unequal.hpp"

#include <algorithm>

#include "balancer/assign/chains.hpp"
#include "balancer/assign/construct.hpp"
#include "balancer/assign/greedy.hpp"
#include "balancer/assign/mend.hpp"
#include "balancer/assign/rooms.hpp"

namespace weft {
namespace {

constexpr double kGoodEnough = 1.001;     // of the bound
constexpr double kShrink = 0.5;           // of the way to the bound that each try goes
constexpr double kSmallestGain = 0.0005;  // of the bound: a try for less is not worth its time
constexpr std::size_t kStepsAChain = 300;
constexpr std::size_t kForced = 800;

double busiest(const Placement& placement) {
  const auto& weight = placement.instance().weight;
  double most = 0;
  for (std::uint32_t c = 0; c < weight.size(); ++c)
    if (weight[c] > 0) most = std::max(most, placement.load(ChannelId(c)) / weight[c]);
  return most;
}

/// The start: coloured in order of size where the fabric has the shape for it, the rest as it fits best.
void start(Placement& placement, const Routes& routes, const std::optional<Skeleton>& skeleton) {
  auto loose = by_size(placement.instance());
  if (skeleton)
    loose = put_wanted(placement, loose, construct(placement.instance(), routes, *skeleton, loose));
  for (const ItemId item : loose) place_least_loaded(placement, item);
}

/// Shrinks the rooms to `bytes`; false, and all as before, when the items do not fit in.
bool squeeze(Placement& placement, Chains& chains, double bytes) {
  const auto before = placement.routes_taken();
  placement.set_room(rooms_of(placement.instance(), bytes));
  if (mend(chains, shed(placement), kForced).empty()) return true;
  placement.restore(before);
  return false;
}

}  // namespace

std::vector<SwitchRoute> solve_unequal(Instance& instance, const Routes& routes,
                                       const std::optional<Skeleton>& skeleton, const Bounds& bounds,
                                       std::uint64_t seed) {
  instance.fill_routes(routes);
  Placement placement(instance);
  start(placement, routes, skeleton);
  Chains chains(placement, seed, kStepsAChain);
  double low = bounds.integral;
  double high = busiest(placement);
  while (high > bounds.integral * kGoodEnough && high - low > bounds.integral * kSmallestGain &&
         chains.steps_taken() < kSearchSteps) {
    const double goal = high - (high - low) * kShrink;
    if (squeeze(placement, chains, goal))
      high = std::min(goal, busiest(placement));
    else
      low = goal;
  }
  return placement.routes();
}

}  // namespace weft
