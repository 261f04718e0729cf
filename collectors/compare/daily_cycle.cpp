#include "collectors/compare/daily_cycle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/fisher_f.hpp>
#include <cmath>

#include "collectors/compare/comparison.hpp"

namespace weft::compare {
namespace {

// The columns of the fit: A's level, what B has more, cosine and sine of the hour, degrees.
constexpr std::size_t kMost = 5;
enum Column : std::size_t { kLevelOfA, kOfB, kCosine, kSine, kDegrees };
using Row = std::array<double, kMost>;
using Matrix = std::array<Row, kMost>;

/// By how much the variance of B/A may grow because the sides were taken at other hours: beyond it, hour and
/// fabric are the same thing (10 is the usual limit of variance inflation).
constexpr double kMaxInflation = 10;
constexpr std::size_t kMinFreedom = 3;
/// Of the hours as points of a circle, the least spread in any direction that tells a cycle; hours spread
/// evenly over a day have .5, over eight hours .02.
constexpr double kMinSpread = 0.02;

double hours_of(Moment moment) { return std::chrono::duration<double, std::ratio<3600>>(moment.at).count(); }

/// The moments of a comparison as columns; degrees count from their mean.
class Regression {
 public:
  Regression(std::span<const Moment> moments, const std::vector<bool>& is_b) {
    double sum = 0;
    has_degrees_ = std::ranges::all_of(moments, [](const Moment& one) { return one.celsius.has_value(); });
    for (const Moment& one : moments) sum += one.celsius.value_or(0);
    const double mean = sum / static_cast<double>(moments.size());
    double spread = 0;
    for (const Moment& one : moments) spread = std::max(spread, std::abs(one.celsius.value_or(mean) - mean));
    has_degrees_ = has_degrees_ && spread > 0.5;  // a degree in all: nothing to learn from less
    for (std::size_t i = 0; i < moments.size(); ++i) {
      const double angle = 2 * M_PI * hours_of(moments[i]) / 24;
      rows_.push_back({1.0, is_b[i] ? 1.0 : 0.0, std::cos(angle), std::sin(angle),
                       has_degrees_ ? *moments[i].celsius - mean : 0});
    }
  }
  std::size_t columns() const { return has_degrees_ ? kMost : kMost - 1; }
  bool has_degrees() const { return has_degrees_; }
  const std::vector<Row>& rows() const { return rows_; }

  /// The inverse of the normal equations, by Gauss and Jordan with pivots; absent: a column says nothing that
  /// the others do not.
  std::optional<Matrix> inverse() const {
    constexpr double kSingular = 1e-9;
    const std::size_t n = columns();
    Matrix left{}, right{};
    for (std::size_t i = 0; i < n; ++i) {
      right[i][i] = 1;
      for (std::size_t k = 0; k < n; ++k)
        for (const Row& row : rows_) left[i][k] += row[i] * row[k];
    }
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t pivot = i;
      for (std::size_t k = i + 1; k < n; ++k)
        if (std::abs(left[k][i]) > std::abs(left[pivot][i])) pivot = k;
      if (std::abs(left[pivot][i]) < kSingular * static_cast<double>(rows_.size())) return std::nullopt;
      std::swap(left[i], left[pivot]), std::swap(right[i], right[pivot]);
      const double by = left[i][i];
      for (std::size_t c = 0; c < n; ++c) left[i][c] /= by, right[i][c] /= by;
      for (std::size_t k = 0; k < n; ++k) {
        const double times = left[k][i];
        if (k == i) continue;
        for (std::size_t c = 0; c < n; ++c)
          left[k][c] -= times * left[i][c], right[k][c] -= times * right[i][c];
      }
    }
    return right;
  }

 private:
  std::vector<Row> rows_;
  bool has_degrees_ = false;
};

/// How many times the variance of B/A that it would be without cycle and temperature.
double inflation(const Matrix& inverse, std::size_t of_a, std::size_t of_b) {
  return inverse[kOfB][kOfB] / (1 / static_cast<double>(of_a) + 1 / static_cast<double>(of_b));
}

FittedShare share_of(double log, double error, double quantile) {
  return {std::expm1(log), std::expm1(log - quantile * error), std::expm1(log + quantile * error)};
}

/// From the two terms and the part of the inverse that is theirs, by the delta method.
DailyCycle cycle_of(double cosine, double sine, const Matrix& inverse, double variance, double freedom) {
  const double radius = std::hypot(cosine, sine);
  const double vcc = variance * inverse[kCosine][kCosine], vss = variance * inverse[kSine][kSine],
               vcs = variance * inverse[kCosine][kSine];
  DailyCycle cycle;
  const double own =
      radius > 0 ? (cosine * cosine * vcc + sine * sine * vss + 2 * cosine * sine * vcs) / (radius * radius)
                 : std::max(vcc, vss);
  cycle.swing =
      share_of(2 * radius, 2 * std::sqrt(std::max(own, 0.0)), student_quantile(freedom, 1 - kLevel / 2));
  cycle.swing.low = std::max(cycle.swing.low, 0.0);
  const double angle = std::atan2(sine, cosine) / (2 * M_PI) * 24;
  cycle.highest_at = angle < 0 ? angle + 24 : angle;
  const double determinant = vcc * vss - vcs * vcs;
  if (determinant <= 0) return cycle;
  const double f = (cosine * cosine * vss - 2 * cosine * sine * vcs + sine * sine * vcc) / determinant / 2;
  cycle.proven =
      boost::math::cdf(boost::math::complement(boost::math::fisher_f(2, freedom), std::min(f, 1e9))) < kLevel;
  return cycle;
}

std::string clock_text(double hour) {
  const auto minutes = static_cast<int>(std::lround(hour * 60)) % (24 * 60);
  return fmt::format("{:02}:{:02}", minutes / 60, minutes % 60);
}

/// The lesser variance of the hours as points of a circle, in any direction (the lesser eigenvalue).
double spread_of_hours(std::span<const Moment> moments) {
  double c = 0, s = 0, cc = 0, ss = 0, cs = 0;
  for (const Moment moment : moments) {
    const double angle = 2 * M_PI * hours_of(moment) / 24;
    const double x = std::cos(angle), y = std::sin(angle);
    c += x, s += y, cc += x * x, ss += y * y, cs += x * y;
  }
  const auto n = static_cast<double>(moments.size());
  const double vcc = cc / n - c * c / (n * n), vss = ss / n - s * s / (n * n), vcs = cs / n - c * s / (n * n);
  return (vcc + vss) / 2 - std::hypot((vcc - vss) / 2, vcs);
}

}  // namespace

std::optional<std::string> why_no_cycle(std::span<const Moment> a, std::span<const Moment> b) {
  std::vector<Moment> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  if (a.size() < kMinUnits || b.size() < kMinUnits || all.size() < kMost + kMinFreedom)
    return fmt::format("the hour of day is not corrected for: {} runs are too few for it", all.size());
  const auto [first, last] = std::ranges::minmax(all, {}, &Moment::at);
  if (last.at - first.at < kMinForCycle)
    return fmt::format(
        "the hour of day is not corrected for: the runs span {:.0f} hours, and a daily cycle is "
        "told over 48 at least",
        hours_of(last) - hours_of(first));
  std::vector<bool> is_b(all.size());
  std::fill(is_b.begin() + static_cast<std::ptrdiff_t>(a.size()), is_b.end(), true);
  const auto inverse = Regression(all, is_b).inverse();
  if (!inverse || spread_of_hours(all) < kMinSpread ||
      inflation(*inverse, a.size(), b.size()) > kMaxInflation)
    return "the hour of day is not corrected for: A and B ran at other hours (or temperatures), or all at "
           "too few, so that these and the fabric cannot be told apart; take runs of both at the same hours, "
           "spread over the day";
  return std::nullopt;
}

std::optional<CorrectedEffect> without_cycle(std::span<const TimedLog> values, Grains grains) {
  std::vector<Moment> moments, of_a, of_b;
  std::vector<bool> is_b;
  for (const TimedLog& value : values) {
    moments.push_back(value.moment);
    is_b.push_back(value.is_b);
    (value.is_b ? of_b : of_a).push_back(value.moment);
  }
  if (why_no_cycle(of_a, of_b)) return std::nullopt;
  const Regression design(moments, is_b);
  const auto inverse = design.inverse();
  if (!inverse) return std::nullopt;
  const std::size_t n = design.columns();
  Row sums{}, fitted{};
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t c = 0; c < n; ++c) sums[c] += design.rows()[i][c] * values[i].log;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t c = 0; c < n; ++c) fitted[i] += (*inverse)[i][c] * sums[c];
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double rest = values[i].log;
    for (std::size_t c = 0; c < n; ++c) rest -= design.rows()[i][c] * fitted[c];
    squares += rest * rest;
  }
  const double freedom = static_cast<double>(values.size() - n);
  const double grain = (grains.a * grains.a + grains.b * grains.b) / 24;  // of a uniform error, a side's mean
  const double variance = std::max(squares / freedom, grain);
  CorrectedEffect found;
  const double of_ratio = variance * (*inverse)[kOfB][kOfB];
  found.effect = {.log_ratio = fitted[kOfB],
                  .error = std::sqrt(of_ratio),
                  .freedom = freedom,
                  .bias = (grains.a + grains.b) / 2,
                  .unit_variance = of_ratio * static_cast<double>(std::min(of_a.size(), of_b.size())),
                  .freedom_per_unit = 2};
  found.cycle = cycle_of(fitted[kCosine], fitted[kSine], *inverse, variance, freedom);
  if (design.has_degrees())
    found.cycle.per_degree = share_of(fitted[kDegrees], std::sqrt(variance * (*inverse)[kDegrees][kDegrees]),
                                      student_quantile(freedom, 1 - kLevel / 2));
  return found;
}

std::string to_string(const DailyCycle& cycle) {
  std::string text = cycle.proven
                         ? fmt::format("{:.2g} % ({:.2g} to {:.2g}) up and down each day, highest at {} UTC",
                                       cycle.swing.share * 100, cycle.swing.low * 100, cycle.swing.high * 100,
                                       clock_text(cycle.highest_at))
                         : fmt::format("no daily cycle is proven (up to {:.2g} %)", cycle.swing.high * 100);
  if (cycle.per_degree)
    text += fmt::format("; {:+.2g} % a degree ({:+.2g} to {:+.2g})", cycle.per_degree->share * 100,
                        cycle.per_degree->low * 100, cycle.per_degree->high * 100);
  return text;
}

}  // namespace weft::compare
