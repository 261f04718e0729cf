// Robust statistics of samples with heavy tails.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace weft {

/// The middle value (the upper of two); reorders `values`, which are not empty.
inline double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Standard deviation a normal sample of this median absolute deviation would have (factor 1/0.6745).
inline double spread_about(std::vector<double> values, double centre) {
  for (double& value : values) value = std::abs(value - centre);
  return values.empty() ? 0.0 : 1.4826 * median(values);
}

/// Log density of Student's t with three degrees of freedom at `x`, of this scale: heavy tails, so that no
/// single value decides alone.
inline double log_student(double x, double scale) {
  constexpr double kLogNorm = -1.000888849;  // ln(2 / (pi sqrt(3)))
  const double z = x / scale;
  return kLogNorm - std::log(scale) - 2.0 * std::log1p(z * z / 3.0);
}

}  // namespace weft
