// From readings of counters to what was counted between two of them: windows. A window is only given where
// what it says was really counted: a reset, a wrap that another cannot be told from, a counter that stands
// still because its source does, a module that was changed and readings that contradict each other give none.
// Nothing is divided: a rate is for those to make who know what the window is for. Pure.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "collectors/counters/counter_series.hpp"

namespace weft::counters {

/// What was counted at a port from one reading to a later one.
struct CounterWindow {
  Nanoseconds from{};
  Nanoseconds to{};
  std::uint64_t grew = 0;
  std::uint32_t epoch = 0;
  friend bool operator==(const CounterWindow&, const CounterWindow&) = default;
};

/// Why steps of a series gave no window, each as a number of steps.
struct StepsLeftOut {
  std::uint64_t restarted = 0;    // counting began anew: the value went back, a boot, a clear, another module
  std::uint64_t went_back = 0;    // by one, or with nothing else of the port: a reading that was wrong
  std::uint64_t stood_still = 0;  // with all that its source tells of the port: the source did not look
  std::uint64_t saturated = 0;    // at the largest value of a counter that does not wrap
  std::uint64_t contradicted = 0;  // two values at a time, times that run against values
  std::uint64_t too_long = 0;      // a counter of 32 bits may have wrapped more than once
  std::uint64_t impossible = 0;    // more than the rate of the port allows
  std::uint64_t training = 0;      // errors beside a link event: link training makes some
  friend bool operator==(const StepsLeftOut&, const StepsLeftOut&) = default;
};

/// One counter of a port by one source; windows ascend and do not overlap.
struct SeriesHistory {
  PortId port;
  CounterKey key;
  std::uint32_t source = 0, exporter = 0;
  std::vector<CounterWindow> windows;
  std::uint64_t wraps = 0;  // of 32 bits, in the windows
  StepsLeftOut left_out;
};

/// A clock of a source may be wrong, but not by that much within a series (the least time between readings
/// that make a window).
inline constexpr Nanoseconds kMinWindow = std::chrono::milliseconds(100);

/// The windows of all series that one source has of one port, in their order: together they tell a reset
/// (which takes all of a port) from a wrap or a wrong value (of one). `rate`: of the port's link, where
/// known.
std::vector<SeriesHistory> port_history(std::span<const CounterSeries> of_one_port,
                                        std::optional<Bandwidth> rate);

/// Of a whole table, which is sorted for it: those of one port by one source at a time, for all together are
/// more than their readings.
void each_history(const Fabric& fabric, CounterTable& table,
                  const std::function<void(std::span<const SeriesHistory>)>& take);

/// What a series grew by from `from` to `to` by the windows that lie in it whole, and how long these are;
/// absent: none does.
struct Growth {
  std::uint64_t grew = 0;
  Nanoseconds watched{};
  Nanoseconds from{}, to{};
};
std::optional<Growth> growth(const SeriesHistory& history, Nanoseconds from, Nanoseconds to);

}  // namespace weft::counters
