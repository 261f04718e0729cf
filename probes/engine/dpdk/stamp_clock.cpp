#include "probes/engine/dpdk/stamp_clock.hpp"

#include <cmath>

namespace weft::dpdk {
namespace {

/// A device's clock: from 1 MHz, below which its stamps are worth less than our own, to 10 GHz.
constexpr double kSlowestTick = 1e3, kFastestTick = 0.1;  // nanoseconds
constexpr auto kMinMeasured = std::chrono::milliseconds(20);
/// Two crystals differ by .01 % at most (IEEE 802.3: 100 ppm each way); the rest is the time to read them.
constexpr double kRateMayDiffer = 1e-3;
/// Further from where the clocks were held against each other no stamp is read. Nanoseconds; an hour.
constexpr double kMaxApart = 3.6e12;

double ticks_between(const ClockPair& from, const ClockPair& to) {
  return static_cast<double>(static_cast<std::int64_t>(to.ticks - from.ticks));
}

double nanoseconds_between(const ClockPair& from, const ClockPair& to) {
  return static_cast<double>((to.at - from.at).count());
}

/// Nanoseconds of a tick; nothing where that is no clock's.
std::optional<double> rate_of(const ClockPair& from, const ClockPair& to) {
  const double ticks = ticks_between(from, to);
  if (to.at - from.at < kMinMeasured || ticks <= 0) return std::nullopt;
  const double rate = nanoseconds_between(from, to) / ticks;
  return rate >= kFastestTick && rate <= kSlowestTick ? std::optional(rate) : std::nullopt;
}

}  // namespace

StampClock::StampClock(const ClockPair& held, double nanoseconds_of_tick, bool measured)
    : first_(held),
      nanoseconds_of_tick_(nanoseconds_of_tick),
      measured_(measured),
      earliest_(held.at - kOutOfOrder) {
  set_held(held);
}

void StampClock::set_held(const ClockPair& now) {
  held_ = now;
  zero_ = now.ticks - static_cast<std::uint64_t>(now.at.count());
}

StampClock StampClock::of_nanoseconds(const ClockPair& now) { return {now, 1, false}; }

std::optional<StampClock> StampClock::measured(const ClockPair& first, const ClockPair& second) {
  const auto rate = rate_of(first, second);
  if (!rate) return std::nullopt;
  StampClock clock(second, *rate, true);
  clock.first_ = first;
  return clock;
}

bool StampClock::hold(const ClockPair& now) {
  if (measured_) {
    const auto rate = rate_of(first_, now);
    if (!rate || std::abs(*rate / nanoseconds_of_tick_ - 1) > kRateMayDiffer) return false;
    const double off = ticks_between(held_, now) * *rate - nanoseconds_between(held_, now);
    if (std::abs(off) > kRateMayDiffer * nanoseconds_between(held_, now) + 1e5) return false;
    nanoseconds_of_tick_ = *rate;
  }
  set_held(now);
  return true;
}

void StampClock::all_read_until(Nanoseconds at) { earliest_ = std::max(earliest_, at - kOutOfOrder); }

Nanoseconds StampClock::by_rate(std::uint64_t stamp) const {
  const auto ticks = static_cast<std::int64_t>(stamp - held_.ticks);
  const double apart = static_cast<double>(ticks) * nanoseconds_of_tick_;
  if (std::abs(apart) > kMaxApart) return Nanoseconds::min();
  return held_.at + Nanoseconds(std::llround(apart));
}

}  // namespace weft::dpdk
