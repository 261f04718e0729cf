#include "balancer/reliability/closed_form.hpp"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "balancer/reliability/draw.hpp"

namespace weft::reliability {
namespace {

constexpr std::size_t kDraws = 20'000;  // the ends of the interval move by about half a per cent

/// Ascending.
std::vector<std::uint64_t> drawn_counts(const std::vector<CountSource>& sources, std::uint64_t seed) {
  Stream stream({seed, 0xF0CA57});
  std::vector<std::uint64_t> counts(kDraws, 0);
  for (const CountSource& each : sources)
    for (std::uint64_t& count : counts) count += stream.poisson(stream.gamma(each.events) * each.share);
  std::ranges::sort(counts);
  return counts;
}

std::uint64_t at_share(const std::vector<std::uint64_t>& counts, double share) {
  return counts[static_cast<std::size_t>(share * static_cast<double>(counts.size()))];
}

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

CountForecast forecast_count(const std::vector<CountSource>& sources, std::uint64_t seed) {
  const auto counts = drawn_counts(sources, seed);
  CountForecast forecast{.low = at_share(counts, 0.025), .high = at_share(counts, 0.975)};
  for (const CountSource& each : sources) forecast.mean += each.events * each.share;
  return forecast;
}

std::uint64_t count_quantile(const std::vector<CountSource>& sources, double share, std::uint64_t seed) {
  return at_share(drawn_counts(sources, seed), share);
}

}  // namespace weft::reliability
