// What happened to a counter between two readings. A counter that sticks at its maximum or was reset gives no
// rate: that is said, not guessed. Pure.
#pragma once

#include <cstdint>
#include <variant>

namespace weft {

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

}  // namespace weft
