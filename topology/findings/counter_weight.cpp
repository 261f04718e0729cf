#include "topology/findings/counter_weight.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace weft {
namespace {

constexpr double kHealthyBer = 1e-15;
constexpr double kBadBer = 1e-14;
constexpr double kHealthyEventsPerHour = 1e-3;
constexpr double kBadEventsPerHour = 1.0;
constexpr double kHealthyDamage = 1e-7;
constexpr double kBadDamage = 1e-4;
constexpr double kOddDamage = 0.1;  // packets, of any link
constexpr double kWaits = 0.1;
constexpr double kNatsOfFullWait = 30;

/// ln of how much likelier `count` is where `bad` are expected (or as many as there are) than where `healthy`
/// are.
double log_ratio(double count, double healthy, double bad) {
  const double expected = std::max(count, bad);
  return std::clamp(count * std::log(expected / healthy) - (expected - healthy), 0.0, kMaxCounterNats);
}

/// Of a counter that grows with `amount`.
double weigh(std::uint64_t count, double amount, double healthy, double bad) {
  if (count == 0 || amount <= 0) return 0;
  return log_ratio(static_cast<double>(count), amount * healthy, amount * bad);
}

}  // namespace

double weigh_symbol_errors(std::uint64_t count, Bandwidth rate, Nanoseconds window) {
  const double bits = rate.bits_per_second() * std::chrono::duration<double>(window).count();
  return weigh(count, bits, kHealthyBer, kBadBer);
}

double weigh_link_events(std::uint64_t count, Nanoseconds window) {
  const double hours = std::chrono::duration<double, std::ratio<3600>>(window).count();
  return weigh(count, hours, kHealthyEventsPerHour, kBadEventsPerHour);
}

double weigh_damaged(std::uint64_t damaged, std::uint64_t all) {
  if (damaged == 0) return 0;
  const auto packets = static_cast<double>(all);
  return log_ratio(static_cast<double>(damaged), kOddDamage + packets * kHealthyDamage, packets * kBadDamage);
}

double weigh_waiting(std::uint64_t ticks, std::uint64_t words) {
  const double share = static_cast<double>(ticks) / (static_cast<double>(ticks) + static_cast<double>(words));
  if (ticks < kMinWaitTicks || share < kWaits) return 0;
  return kNatsOfFullWait * std::min(1.0, 2 * share);
}

}  // namespace weft
