#include "probes/diagnosis/load/load_cause.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "topology/base/check.hpp"
#include "topology/base/statistics.hpp"

namespace weft {
namespace {

/// How far a queue's whims may move a round from the fair share; which is not known beforehand.
constexpr std::array kWhims{0.01, 0.03, 0.09, 0.2};
/// The capacity itself is known to within a few per cent (headers, shaping).
constexpr std::array kTuned{0.96, 1.0};
/// From an offer to one so many times larger the share of a congested channel moves by ten times the usual
/// noise.
constexpr double kApart = 1.4;

class Average {
 public:
  void add(double log_likelihood, const Passing& way) {
    if (values_.empty() || log_likelihood > top_) top_ = log_likelihood, best_ = way;
    values_.push_back(log_likelihood);
  }
  CauseFit result() const {
    double sum = 0;
    for (const double value : values_) sum += std::exp(value - top_);
    return {top_ + std::log(sum / static_cast<double>(values_.size())), best_};
  }

 private:
  std::vector<double> values_;
  double top_ = 0;
  Passing best_;
};

double log_likelihood(std::span<const PressedRound> rounds, const Passing& way, double scatter) {
  double sum = 0;
  for (const PressedRound& round : rounds)
    sum += log_student(round.got - round.offered * way.share(round.offered), scatter);
  return sum;
}

CauseFit fit_rate(std::span<const PressedRound> rounds, double noise) {
  Average average;
  for (double part = 0.01; part < 1.0; part *= 1.02) {
    const Passing way{part, 0.0};
    average.add(log_likelihood(rounds, way, noise), way);
  }
  return average.result();
}

CauseFit fit_congestion(std::span<const PressedRound> rounds, double noise) {
  Average average;
  for (const double tuned : kTuned)
    for (double other = 0.05; other < 5.0; other *= 1.08)
      for (const double whim : kWhims) {
        const Passing way{tuned, other};
        average.add(log_likelihood(rounds, way, std::hypot(noise, whim)), way);
      }
  return average.result();
}

}  // namespace

CauseFit fit_cause(Cause cause, std::span<const PressedRound> rounds, double noise) {
  WEFT_CHECK(cause == Cause::rate || cause == Cause::congestion);
  return cause == Cause::rate ? fit_rate(rounds, noise) : fit_congestion(rounds, noise);
}

bool offers_differ(std::span<const PressedRound> rounds) {
  if (rounds.empty()) return false;
  const auto [least, most] = std::ranges::minmax_element(rounds, {}, &PressedRound::offered);
  return most->offered > kApart * least->offered;
}

}  // namespace weft
