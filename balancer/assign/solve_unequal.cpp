#include "balancer/assign/solve_unequal.hpp"

#include <algorithm>
#include <numeric>

#include "balancer/assign/chains.hpp"
#include "balancer/assign/construct.hpp"
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

/// On the route whose busiest channel is the least busy with it.
void place_least_loaded(Placement& placement, ItemId item) {
  const Instance& instance = placement.instance();
  const auto& routes = instance.routes_of(item);
  const double bytes = instance.bytes_of(item);
  const auto cost = [&](const Route& route) {
    double most = 0;
    double sum = 0;
    for (const ChannelId c : route.channels()) {
      const double load = (placement.load(c) + bytes) / instance.weight[c.value()];
      most = std::max(most, load);
      sum += load;
    }
    return std::pair(most, sum);
  };
  std::uint32_t best = 0;
  auto least = cost(routes[0]);
  for (std::uint32_t r = 1; r < routes.size(); ++r)
    if (const auto each = cost(routes[r]); each < least) least = each, best = r;
  placement.put(item, best);
}

/// Items by size, the greatest first; of one flow together.
std::vector<ItemId> by_size(const Instance& instance) {
  std::vector<ItemId> items(instance.item_count());
  std::iota(items.begin(), items.end(), 0U);
  std::ranges::stable_sort(items, std::greater{}, [&](ItemId i) { return instance.bytes_of(i); });
  return items;
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

std::vector<Route> solve_unequal(Instance& instance, const Routes& routes,
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
