// How far B is from A, as the logarithm of the ratio B/A with its standard error, and what Student's t says
// of it. Two designs: blocks (A and B close in time, so that slow drift cancels) and runs without blocks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weft::compare {

struct Effect {
  double log_ratio = 0;
  double error = 0;    // standard error of log_ratio
  double freedom = 0;  // degrees of freedom of `error`
  double bias = 0;     // log_ratio is off by up to this besides, however many units there are
  // What more units (blocks, or runs a side) would change: error^2 is unit_variance / units.
  double unit_variance = 0;
  double freedom_per_unit = 1;
};

/// One unit of the last printed digit, as a share of the value (0: exact). What is printed is off by up to
/// half of it, and by the same where the truth is the same: a bias, which no repetition lessens. Values that
/// hardly vary may vary below it: their variance is taken to be that of a uniform error at least.
struct Grains {
  double a = 0;
  double b = 0;
  /// The variance of a unit of each side at least, as counting its packets gives it; 0: nothing was counted.
  double counted_a = 0;
  double counted_b = 0;
};

/// Of blocks: each value is log(B/A) of one. At least two values.
Effect block_effect(std::span<const double> log_ratios, Grains grains = {});

/// Welch's t of logarithms, with the Welch-Satterthwaite degrees of freedom (Welch 1947). At least two values
/// a side.
Effect welch_effect(std::span<const double> log_a, std::span<const double> log_b, Grains grains = {});

/// The same effect and spread over `units` blocks, or runs a side (at least two).
Effect with_units(const Effect& effect, std::size_t units);

/// Quantile of Student's t: freedom > 0, 0 < share < 1.
double student_quantile(double freedom, double share);

/// Half the width of the two-sided interval of log_ratio at this level (0.05: 95 %), with the bias.
double half_width(const Effect& effect, double level);

/// The p-value of "B is A", two-sided: of what of log_ratio is no bias. Precondition: error > 0.
double p_value(const Effect& effect);

/// Two one-sided tests at `level` each (Schuirmann 1987): |log_ratio| is proven to be below `log_margin`.
bool is_within(const Effect& effect, double log_margin, double level);

/// Adjusted p-values, in the order given: below a level, they are rejected with all of them tested (Holm
/// 1979).
std::vector<double> holm(std::span<const double> p_values);

}  // namespace weft::compare
