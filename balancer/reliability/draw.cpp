#include "balancer/reliability/draw.hpp"

#include <cmath>
#include <numbers>

namespace weft::reliability {
namespace {

std::uint64_t folded(std::initializer_list<std::uint64_t> key) {
  std::uint64_t state = 0;
  for (const std::uint64_t each : key) state = mix_bits(state + kSplitMixStep + each);
  return state;
}

}  // namespace

Stream::Stream(std::initializer_list<std::uint64_t> key) : random_(folded(key)) {}

double Stream::uniform() {
  constexpr double kSteps = 9007199254740992.0;  // 2^53
  return (static_cast<double>(random_() >> 11) + 0.5) / kSteps;
}

double Stream::exponential() { return -std::log(uniform()); }

double Stream::normal() {
  const double radius = std::sqrt(2 * exponential());
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

double Stream::gamma(double shape) {
  if (shape < 1) return gamma(shape + 1) * std::pow(uniform(), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal(), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

std::uint64_t Stream::poisson(double mean) {
  // A gamma-distributed time takes away half of a large mean at once (Ahrens and Dieter, 1974).
  constexpr double kSmall = 30;
  if (mean > kSmall) {
    const auto events = static_cast<std::uint64_t>(mean * 0.875);
    const double time = gamma(static_cast<double>(events));
    if (time <= mean) return events + poisson(mean - time);
    std::uint64_t kept = 0;  // each of the earlier events - 1 lies before the end by itself
    for (std::uint64_t i = 1; i < events; ++i) kept += uniform() < mean / time ? 1 : 0;
    return kept;
  }
  std::uint64_t count = 0;
  for (double at = exponential(); at < mean; at += exponential()) ++count;
  return count;
}

Hours draw_repair(Stream& stream, const std::vector<files::RepairTime>& repair) {
  double at = stream.uniform();
  const files::RepairTime* law = &repair.front();
  for (const files::RepairTime& each : repair) {
    law = &each;
    if (at < each.share) break;
    at -= each.share;
  }
  switch (law->law) {
    case files::RepairLaw::fixed:
      return law->mean;
    case files::RepairLaw::exponential:
      return law->mean * stream.exponential();
    case files::RepairLaw::log_normal:
      return law->mean * std::exp(law->sigma * stream.normal() - law->sigma * law->sigma / 2);
  }
  return law->mean;
}

}  // namespace weft::reliability
