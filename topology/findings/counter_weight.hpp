// What counters of errors say of a link: what happened to one between two readings, and how much a count
// says: the natural logarithm of its likelihood on a link that is bad over that on a healthy one of the same
// rate, watched as long. Counts are Poisson. Pure.
#pragma once

#include <cstdint>
#include <variant>

#include "topology/base/units.hpp"

namespace weft {

// What happened to a counter between two readings. A counter that sticks at its maximum or was reset gives no
// rate: that is said, not guessed.

struct Advanced {
  std::uint64_t by = 0;
  friend bool operator==(const Advanced&, const Advanced&) = default;
};
struct Saturated {
  friend bool operator==(const Saturated&, const Saturated&) = default;
};
/// A reset; the counter counted at least this much since.
struct WentBack {
  std::uint64_t since = 0;
  friend bool operator==(const WentBack&, const WentBack&) = default;
};
using CounterStep = std::variant<Advanced, Saturated, WentBack>;

/// `limit`: where the counter sticks.
constexpr CounterStep counter_step(std::uint64_t before, std::uint64_t after, std::uint64_t limit) {
  if (after >= limit) return Saturated{};
  if (after < before) return WentBack{after};
  return Advanced{after - before};
}

/// Above this more counts say no more: other faults than the counter's may have made them.
inline constexpr double kMaxCounterNats = 50;

/// Symbol errors behind the forward error correction. A healthy link makes fewer than 1e-15 a bit (IBTA
/// vol. 2, effective BER); a cable is looked at from 1e-14 on (the threshold of UFM's port health, over 12
/// minutes). Zero where nothing was counted or no time passed.
double weigh_symbol_errors(std::uint64_t count, Bandwidth rate, Nanoseconds window);

/// Events that a healthy link has less than once in 1,000 hours (it goes down, retrains, overruns); a bad one
/// has one an hour.
double weigh_link_events(std::uint64_t count, Nanoseconds window);

/// Packets that came damaged, of `all` that came: a healthy link damages fewer than 1e-7 of them (and a
/// tenth of one in any case), a bad one 1e-4.
double weigh_damaged(std::uint64_t damaged, std::uint64_t all);

/// A port that could not send what it had, in ticks that take as long as the words it sent took to send: a
/// tenth of the time is more than bursts make. Zero below that, and for few ticks: they are a moment.
inline constexpr std::uint64_t kMinWaitTicks = 1000;  // 20 ns at 200 Gb/s
double weigh_waiting(std::uint64_t ticks, std::uint64_t words);

}  // namespace weft
