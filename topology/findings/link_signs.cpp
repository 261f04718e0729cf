#include "topology/findings/link_signs.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace weft {
namespace {

constexpr double kHealthyEventsPerHour = 1e-3;
constexpr double kBadEventsPerHour = 1.0;
constexpr double kWaits = 0.1;
constexpr double kNatsOfFullWait = 30;

}  // namespace

/// Counts are Poisson: as many are expected where the link is bad as there are, or at least one an hour.
double weigh_link_events(std::uint64_t count, Nanoseconds window) {
  const double hours = std::chrono::duration<double, std::ratio<3600>>(window).count();
  if (count == 0 || hours <= 0) return 0;
  const double events = static_cast<double>(count), healthy = hours * kHealthyEventsPerHour;
  const double expected = std::max(events, hours * kBadEventsPerHour);
  return std::clamp(events * std::log(expected / healthy) - (expected - healthy), 0.0, kMaxEventNats);
}

double weigh_waiting(std::uint64_t ticks, std::uint64_t words) {
  const double share = static_cast<double>(ticks) / (static_cast<double>(ticks) + static_cast<double>(words));
  if (ticks < kMinWaitTicks || share < kWaits) return 0;
  return kNatsOfFullWait * std::min(1.0, 2 * share);
}

}  // namespace weft
