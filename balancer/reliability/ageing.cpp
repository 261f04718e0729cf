#include "balancer/reliability/ageing.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace weft::reliability {
namespace {

constexpr double kStepsALife = 20;  // of the renewal equation: its error is some tenths of a per cent
constexpr double kMinRenewalSteps = 400, kMaxRenewalSteps = 4000;
constexpr double kManyLives = 50;  // from there on failures come as often as lives and repairs are long

/// The hazard that a part of this age takes in within `time`; times over the scale.
double hazard(double age, double time, double shape) {
  const double taken = std::pow(age + time, shape) - std::pow(age, shape);
  return std::isfinite(taken) ? taken : INFINITY;
}

double failed_by(double age, double time, double shape) {
  return time <= 0 ? 0 : -std::expm1(-hazard(age, time, shape));
}

/// Failures within `length` of a part of this age, each followed by a repair. All times over the scale.
double renewals(double age, double repair, double length, double shape) {
  const double life = std::tgamma(1 + 1 / shape);
  if (length > kManyLives * (life + repair))
    return failed_by(age, length, shape) + (length - life) / (life + repair);
  const auto steps = static_cast<std::size_t>(
      std::clamp(kStepsALife * length / std::min(life, 1.0), kMinRenewalSteps, kMaxRenewalSteps));
  const double step = length / static_cast<double>(steps);
  std::vector<double> half(steps + 1), after(steps + 1, 0);  // of a new part; after a failure at 0
  for (std::size_t i = 0; i <= steps; ++i)
    half[i] = failed_by(0, (static_cast<double>(i) + 0.5) * step - repair, shape);
  for (std::size_t i = 1; i <= steps; ++i) {
    double sum = failed_by(0, static_cast<double>(i) * step - repair, shape) - half[0] * after[i - 1];
    for (std::size_t j = 1; j < i; ++j) sum += half[i - j] * (after[j] - after[j - 1]);
    after[i] = sum / (1 - half[0]);
  }
  double failures = failed_by(age, length, shape), before = 0;
  for (std::size_t j = 1; j <= steps; ++j) {
    const double by = failed_by(age, static_cast<double>(j) * step, shape);
    failures += (after[steps - j] + after[steps - j + 1]) / 2 * (by - before);
    before = by;
  }
  return failures;
}

}  // namespace

bool ages(const files::ClassRates& rates) { return rates.ageing && rates.ageing->shape != 1; }

Hours weibull_scale(const files::ClassRates& rates, double factor) {
  const double shape = rates.ageing->shape, smaller = std::pow(factor, -1 / shape);
  if (!rates.ageing->counted_from)
    return Hours(smaller / (files::rate_of(rates) * std::tgamma(1 + 1 / shape)));
  const double from = rates.ageing->counted_from->count(), until = from + rates.time.count();
  // The events of the exposure are what all parts took in of the hazard at these ages.
  const double each = files::events_counted(rates.events) / static_cast<double>(rates.parts);
  return Hours(smaller * std::pow((std::pow(until, shape) - std::pow(from, shape)) / each, 1 / shape));
}

Hours weibull_wait(Hours age, double shape, Hours scale, double exponential) {
  const double taken = std::pow(age / scale, shape);
  if (!std::isfinite(taken)) return Hours(0);
  return std::max(scale * std::pow(taken + exponential, 1 / shape) - age, Hours(0));
}

double failures_a_part(const files::ClassRates& rates, Hours length) {
  if (!ages(rates)) return files::rate_of(rates) * length.count();
  const Hours scale = weibull_scale(rates, 1);
  return renewals(rates.ageing->age / scale, files::mean_repair(rates.repair) / scale, length / scale,
                  rates.ageing->shape);
}

CountSource failures_source(const files::ClassRates& rates, double parts, Hours length) {
  const double counted = files::events_counted(rates.events);
  return {counted, parts * failures_a_part(rates, length) / counted};
}

}  // namespace weft::reliability
