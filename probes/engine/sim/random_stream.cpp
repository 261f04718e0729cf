#include "probes/engine/sim/random_stream.hpp"

#include <cmath>
#include <numbers>
#include <random>

namespace weft {

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

std::uint64_t RandomStream::binomial(std::uint64_t trials, double probability) {
  constexpr double kFewSuccesses = 10;  // up to here the gaps cost less than setting up the rejection method
  if (probability <= 0 || trials == 0) return 0;
  if (probability >= 1) return trials;
  if (probability > 0.5) return trials - binomial(trials, 1 - probability);
  if (static_cast<double>(trials) * probability < kFewSuccesses) return rare(trials, probability);
  return std::binomial_distribution<std::uint64_t>(trials, probability)(*this);
}

}  // namespace weft
