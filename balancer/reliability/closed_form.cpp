#include "balancer/reliability/closed_form.hpp"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <complex>
#include <numbers>

namespace weft::reliability {
namespace {

/// The distribution of a sum of counts from its characteristic function, by the inverse discrete Fourier
/// transform over a window that holds all but a few millionths of it.
class CountSum {
 public:
  explicit CountSum(const std::vector<CountSource>& sources) {
    double variance = 0;
    for (const CountSource& each : sources)
      mean_ += each.events * each.share, variance += each.events * each.share * (1 + each.share);
    const double deviation = std::sqrt(variance);
    first_ = std::max(std::floor(mean_ - kWindow * deviation), 0.0);
    points_ = 2 * std::ceil(kWindow * deviation) + 41;
    const auto terms = static_cast<std::size_t>(std::min(points_ / 2, kMaxTerms));
    for (std::size_t j = 1; j <= terms; ++j) {
      values_.push_back(characteristic(sources, angle(j)));
      if (std::abs(values_.back()) < kNothing) break;
    }
  }

  /// The least k with P(X <= k) >= share.
  std::uint64_t quantile(double share) const {
    double low = 0, high = points_ - 1;
    while (low < high) {
      const double middle = std::floor((low + high) / 2);
      at_most(middle) >= share ? high = middle : low = middle + 1;
    }
    constexpr double kLargest = 1e18;
    return static_cast<std::uint64_t>(std::min(first_ + low, kLargest));
  }

 private:
  static constexpr double kWindow = 20;  // standard deviations; a count may be as skewed as an exponential
  static constexpr double kMaxTerms = 1e5, kNothing = 1e-10;

  double angle(std::size_t j) const { return 2 * std::numbers::pi * static_cast<double>(j) / points_; }

  /// The product of (1 + s (1 - e^(it)))^(-r), of a count of mean r s that is Poisson with a rate from
  /// Gamma(r); counted from the window's first.
  std::complex<double> characteristic(const std::vector<CountSource>& sources, double t) const {
    double log_size = 0, phase = -t * first_;
    const double half = std::sin(t / 2);
    for (const CountSource& each : sources) {
      const double x = each.share * 2 * half * half, y = -each.share * std::sin(t);
      log_size -= each.events / 2 * std::log1p(x * (2 + x) + y * y);
      phase -= each.events * std::atan2(y, 1 + x);
    }
    return std::polar(std::exp(log_size), phase);
  }

  /// P(X <= first + k).
  double at_most(double k) const {
    double sum = k + 1;
    for (std::size_t j = 1; j <= values_.size(); ++j) {
      const double half = angle(j) / 2;
      sum += 2 * (values_[j - 1] * std::polar(1.0, -half * k)).real() * std::sin(half * (k + 1)) /
             std::sin(half);
    }
    return sum / points_;
  }

  double mean_ = 0, first_ = 0, points_ = 1;  // the window
  std::vector<std::complex<double>> values_;  // of the characteristic function, at angle(1), angle(2), ...
};

}  // namespace

double efficiency(Hours t, Hours cost, Hours down, Hours mean_to_failure) {
  const double m = mean_to_failure.count();
  const double share = t.count() / (m * std::exp(down.count() / m) * std::expm1((t + cost).count() / m));
  return std::isfinite(share) ? share : 0;
}

Hours young_interval(Hours cost, Hours mean_to_failure) {
  return Hours(std::sqrt(2 * cost.count() * mean_to_failure.count()));
}

Hours daly_interval(Hours cost, Hours mean_to_failure) {
  const double c = cost.count(), m = mean_to_failure.count();
  if (c >= 2 * m) return mean_to_failure;
  const double ratio = c / (2 * m);
  return Hours(std::sqrt(2 * c * m) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - c);
}

Hours sweep_interval(Hours cost, double rate_per_hour, double slowdown) {
  return Hours(std::sqrt(2 * cost.count() / (rate_per_hour * slowdown)));
}

double poisson_at_most(std::uint64_t k, double mean) {
  return mean <= 0 ? 1 : boost::math::gamma_q(static_cast<double>(k) + 1, mean);
}

std::uint64_t poisson_quantile(double share, double mean) {
  std::uint64_t low = 0;
  auto high = static_cast<std::uint64_t>(mean + 40 * std::sqrt(mean + 1) + 40);
  while (low < high) {
    const auto middle = low + (high - low) / 2;
    poisson_at_most(middle, mean) >= share ? high = middle : low = middle + 1;
  }
  return low;
}

double rate_at_most(double events, Hours exposure) {
  constexpr double kSure = 0.95;
  return boost::math::gamma_p_inv(events + 1, kSure) / exposure.count();
}

CountForecast forecast_count(const std::vector<CountSource>& sources) {
  const CountSum sum(sources);
  CountForecast forecast{.low = sum.quantile(0.025), .high = sum.quantile(0.975)};
  for (const CountSource& each : sources) forecast.mean += each.events * each.share;
  return forecast;
}

std::uint64_t count_quantile(const std::vector<CountSource>& sources, double share) {
  return CountSum(sources).quantile(share);
}

}  // namespace weft::reliability
