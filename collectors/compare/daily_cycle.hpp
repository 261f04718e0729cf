// Hour of day and temperature in recorded runs. A fabric that is slower each noon, or where it is warm, is
// not another fabric: the ratio of two sides is fitted together with a daily sinusoid and, where all runs
// tell it, a temperature, by least squares of logarithms (cosinor: Cornelissen 2014). Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectors/compare/effect.hpp"
#include "collectors/compare/run.hpp"

namespace weft::compare {

struct TimedLog {
  double log = 0;
  Moment moment;
  bool is_b = false;
};

/// A change of the value as a share (0.02: 2 %) with its 95 % interval.
struct FittedShare {
  double share = 0;
  double low = 0;
  double high = 0;
};

struct DailyCycle {
  FittedShare swing;      // from its lowest to its highest, over a day
  bool proven = false;    // F test of both its terms, at 5 %
  double highest_at = 0;  // hour of the day, UTC; it is lowest twelve hours from there
  std::optional<FittedShare> per_degree = std::nullopt;
};

struct CorrectedEffect {
  Effect effect;  // of B against A without cycle and temperature
  DailyCycle cycle;
};

/// The shortest time over which a day's cycle is told from a trend.
inline constexpr Nanoseconds kMinForCycle = std::chrono::hours(48);

/// Why the runs at these times tell no cycle, as a sentence: they span less than two days, are too few, or
/// those of A were all taken at other hours (or temperatures) than those of B. Absent: they do.
std::optional<std::string> why_no_cycle(std::span<const Moment> a, std::span<const Moment> b);

/// Why the temperature is not corrected for though some of these runs have one, as a sentence: others have
/// none, or it was the same. Absent: it is, or none has one.
std::optional<std::string> why_no_degrees(std::span<const Moment> a, std::span<const Moment> b);

/// Absent: they do not tell it (why_no_cycle).
std::optional<CorrectedEffect> without_cycle(std::span<const TimedLog> values, Grains grains = {});

/// "2.1 % (1.5 to 2.7) up and down each day, highest at 00:10 UTC", or that none is proven.
std::string to_string(const DailyCycle& cycle);

}  // namespace weft::compare
