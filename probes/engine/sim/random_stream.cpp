#include "probes/engine/sim/random_stream.hpp"

#include <cmath>
#include <numbers>

namespace weft::sim {
namespace {

/// What Stirling's formula lacks of ln k!.
double stirling_rest(double k) {
  constexpr double kSmall[] = {
      0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.0207906721037651,  0.0166446911898211,
      0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287};
  if (k < 10) return kSmall[static_cast<int>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

/// ln of the binomial probability of k over that of the likeliest number.
double log_mass_over_mode(double n, double p, double k) {
  const double m = std::floor((n + 1) * p);
  const double odds = p / (1 - p);
  return (m + 0.5) * std::log((m + 1) / (odds * (n - m + 1))) +
         (n + 1) * std::log((n - m + 1) / (n - k + 1)) + (k + 0.5) * std::log(odds * (n - k + 1) / (k + 1)) +
         stirling_rest(m) + stirling_rest(n - m) - stirling_rest(k) - stirling_rest(n - k);
}

}  // namespace

double RandomStream::exponential() { return -std::log1p(-uniform()); }

double RandomStream::normal() {  // Box and Muller 1958
  const double radius = std::sqrt(2 * exponential());
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

/// By the gaps between successes, which are geometric: the cost is the number of successes.
std::uint64_t RandomStream::rare(std::uint64_t trials, double probability) {
  const double per_failure = std::log1p(-probability);
  double passed = 0;
  for (std::uint64_t found = 0;; ++found) {
    passed += std::floor(std::log1p(-uniform()) / per_failure) + 1;
    if (passed > static_cast<double>(trials)) return found;
  }
}

/// By transformed rejection: algorithm BTRS of W. Hoermann, "The generation of binomial random variates",
/// 1993, with its constants. (The standard library's distribution calls lgamma, which writes to a global.)
std::uint64_t RandomStream::common(std::uint64_t trials, double p) {
  const auto n = static_cast<double>(trials);
  const double deviation = std::sqrt(n * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double accepted_at_once = 0.92 - 4.2 / b;
  for (;;) {  // about 1.15 rounds in the mean
    const double u = uniform() - 0.5;
    const double v = uniform();
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + n * p + 0.5);
    if (us >= 0.07 && v <= accepted_at_once) return static_cast<std::uint64_t>(k);
    if (k < 0 || k > n) continue;
    const double scaled = v * (2.83 + 5.1 / b) * deviation / (a / (us * us) + b);
    if (std::log(scaled) <= log_mass_over_mode(n, p, k)) return static_cast<std::uint64_t>(k);
  }
}

std::uint64_t RandomStream::binomial(std::uint64_t trials, double probability) {
  constexpr double kMinSuccesses = 10;  // BTRS holds from here on; below, the gaps are as fast
  if (probability <= 0 || trials == 0) return 0;
  if (probability >= 1) return trials;
  if (probability > 0.5) return trials - binomial(trials, 1 - probability);
  const bool few = static_cast<double>(trials) * probability < kMinSuccesses;
  return few ? rare(trials, probability) : common(trials, probability);
}

}  // namespace weft::sim
