#include "balancer/assign/squeeze.hpp"

#include <algorithm>

#include "balancer/assign/chains.hpp"
#include "balancer/assign/greedy.hpp"
#include "balancer/assign/mend.hpp"
#include "balancer/assign/rooms.hpp"

namespace weft::assign {
namespace {

// Of the goal: near enough to it, and the gain below which a try is not worth its time.
constexpr double kGoodEnough = 1.001;
constexpr double kMinGain = 0.0005;
/// Of the way to the goal that each try goes.
constexpr double kShrink = 0.5;
/// Short chains, many tries: found best by trial on sizes from 1 to 10 at 1,024 hosts.
constexpr std::size_t kStepsAChain = 300;
constexpr std::size_t kForced = 800;
/// Of all tries together: less than a second on one core for a thousand hosts.
constexpr std::uint64_t kSteps = 1'500'000;

/// Effort before the rooms rise: some fifty times what the hardest solvable case measured took.
constexpr std::size_t kForcedWithin = 200;
constexpr std::uint64_t kStepsWithin = 300'000;
constexpr std::uint64_t kStepsWithinAnItem = 20;

double busiest(const Placement& placement) {
  const auto& weight = placement.instance().weight;
  double most = 0;
  for (std::uint32_t c = 0; c < weight.size(); ++c)
    if (weight[c] > 0) most = std::max(most, placement.load(ChannelId(c)) / weight[c]);
  return most;
}

/// Shrinks the rooms to `bytes`; false, and all as before, when the items do not fit in.
bool fits(Placement& placement, Chains& chains, double bytes) {
  const auto before = placement.routes_taken();
  placement.set_room(rooms_of(placement.instance(), bytes));
  if (mend(chains, shed(placement), {kForced, kSteps}).empty()) return true;
  placement.restore(before);
  return false;
}

}  // namespace

void squeeze(Placement& placement, double goal, std::uint64_t seed) {
  const Instance& instance = placement.instance();
  Chains chains(placement, seed, kStepsAChain);
  double low = goal;
  double high = busiest(placement);
  while (high > goal * kGoodEnough && high - low > goal * kMinGain && chains.steps_taken() < kSteps) {
    if (instance.equal && next_rooms(instance, low) >= high * (1 - kMinGain)) return;
    const double next = high - (high - low) * kShrink;
    if (fits(placement, chains, next))
      high = std::min(next, busiest(placement));
    else
      low = next;
  }
}

void place_all(Placement& placement, std::vector<ItemId> loose, double bytes, std::uint64_t seed) {
  const Instance& instance = placement.instance();
  const Effort effort{kForcedWithin, kStepsWithin + kStepsWithinAnItem * instance.item_count()};
  Chains chains(placement, seed);
  loose = mend(chains, loose, effort);
  if (loose.empty()) return;
  placement.set_room(rooms_of(instance, bytes));
  loose = mend(chains, loose, effort);
  if (loose.empty()) return;
  for (const ItemId item : loose) place_least_loaded(placement, item);
  squeeze(placement, bytes, seed);
}

}  // namespace weft::assign
