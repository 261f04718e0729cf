// StampClock: the stamps that a device or the kernel puts on frames, as times of a port's own clock. Stamps
// are outside input: one that lies in the future, before what had come already, or that jumps is not
// believed. Pure; one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "topology/base/units.hpp"

namespace weft::dpdk {

/// A clock that stamps and the port's own at the same moment.
struct ClockPair {
  std::uint64_t ticks = 0;
  Nanoseconds at{};
};

class StampClock {
 public:
  /// Stamps are nanoseconds, of a clock that may be set at any time: it is to be held against ours with each
  /// look.
  static StampClock of_nanoseconds(const ClockPair& now);
  /// Stamps are ticks of unknown length, measured between these two (rte_eth_read_clock). Nothing where the
  /// clock stands still, goes back, or is none that a device has.
  static std::optional<StampClock> measured(const ClockPair& first, const ClockPair& second);

  /// Holds both clocks against each other again. False where a measured one has jumped, or goes at another
  /// rate than before: nothing of it is to be believed any more.
  bool hold(const ClockPair& now);
  /// All that came before has been read.
  void all_read_until(Nanoseconds at);
  /// When a frame came that is read at `now`; nothing where its stamp is not believed.
  std::optional<Nanoseconds> time_of(std::uint64_t stamp, Nanoseconds now) {
    // Whatever the stamp is: modulo 2^64, and then it is in time or not.
    const Nanoseconds at = measured_ ? by_rate(stamp) : Nanoseconds(static_cast<std::int64_t>(stamp - zero_));
    if (at > now || at < earliest_) return std::nullopt;
    earliest_ = std::max(earliest_, at - kOutOfOrder);
    return at;
  }

 private:
  /// The longest that a frame may lie between its stamp and where it is read, in front of one that was read
  /// before it: a round of the kernel's receive work takes 8 ms (net.core.netdev_budget_usecs).
  static constexpr Nanoseconds kOutOfOrder = std::chrono::milliseconds(10);

  StampClock(const ClockPair& held, double nanoseconds_of_tick, bool measured);
  void set_held(const ClockPair& now);
  Nanoseconds by_rate(std::uint64_t stamp) const;
  ClockPair first_;  // its rate is measured from here on
  ClockPair held_;
  std::uint64_t zero_ = 0;  // of ours, on a clock of nanoseconds
  double nanoseconds_of_tick_;
  bool measured_;
  Nanoseconds earliest_;  // that is believed
};

}  // namespace weft::dpdk
