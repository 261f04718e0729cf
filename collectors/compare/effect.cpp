#include "collectors/compare/effect.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

namespace weft::compare {
namespace {

// double is enough: without the promotion to long double it is several times as fast.
using Policy = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
using Student = boost::math::students_t_distribution<double, Policy>;

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// A uniform error of this width has it.
double variance_of_grain(double grain) { return grain * grain / 12; }

double variance(std::span<const double> values) {
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return sum / static_cast<double>(values.size() - 1);
}

}  // namespace

Effect block_effect(std::span<const double> log_ratios, Grains grains) {
  const auto n = static_cast<double>(log_ratios.size());
  const double spread =
      std::max({variance(log_ratios), variance_of_grain(grains.a) + variance_of_grain(grains.b),
                grains.counted_a + grains.counted_b});
  return {.log_ratio = mean(log_ratios),
          .error = std::sqrt(spread / n),
          .freedom = n - 1,
          .bias = (grains.a + grains.b) / 2,
          .unit_variance = spread,
          .freedom_per_unit = 1};
}

Effect welch_effect(std::span<const double> log_a, std::span<const double> log_b, Grains grains) {
  const auto n_a = static_cast<double>(log_a.size());
  const auto n_b = static_cast<double>(log_b.size());
  const double spread_a = std::max({variance(log_a), variance_of_grain(grains.a), grains.counted_a});
  const double spread_b = std::max({variance(log_b), variance_of_grain(grains.b), grains.counted_b});
  const double of_a = spread_a / n_a;
  const double of_b = spread_b / n_b;
  const double sum = of_a + of_b;
  const double squares = of_a * of_a / (n_a - 1) + of_b * of_b / (n_b - 1);
  const double unit_squares = spread_a * spread_a + spread_b * spread_b;
  return {.log_ratio = mean(log_b) - mean(log_a),
          .error = std::sqrt(sum),
          .freedom = squares > 0 ? sum * sum / squares : n_a + n_b - 2,
          .bias = (grains.a + grains.b) / 2,
          .unit_variance = spread_a + spread_b,
          .freedom_per_unit =
              unit_squares > 0 ? (spread_a + spread_b) * (spread_a + spread_b) / unit_squares : 2};
}

Effect with_units(const Effect& effect, std::size_t units) {
  Effect other = effect;
  other.error = std::sqrt(effect.unit_variance / static_cast<double>(units));
  other.freedom = effect.freedom_per_unit * static_cast<double>(units - 1);
  return other;
}

double student_quantile(double freedom, double share) {
  return boost::math::quantile(Student(freedom), share);
}

double half_width(const Effect& effect, double level) {
  return student_quantile(effect.freedom, 1 - level / 2) * effect.error + effect.bias;
}

double p_value(const Effect& effect) {
  const double t = std::max(std::abs(effect.log_ratio) - effect.bias, 0.0) / effect.error;
  return 2 * boost::math::cdf(boost::math::complement(Student(effect.freedom), t));
}

bool is_within(const Effect& effect, double log_margin, double level) {
  const double most = std::abs(effect.log_ratio) + effect.bias;
  return most + student_quantile(effect.freedom, 1 - level) * effect.error < log_margin;
}

std::vector<double> holm(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p_values[i]; });
  std::vector<double> adjusted(p_values.size());
  double highest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double p = static_cast<double>(order.size() - rank) * p_values[order[rank]];
    highest = std::max(highest, std::min(p, 1.0));
    adjusted[order[rank]] = highest;
  }
  return adjusted;
}

}  // namespace weft::compare
