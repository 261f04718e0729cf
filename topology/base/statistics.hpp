// Order statistics, and robust statistics of samples with heavy tails.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

namespace weft {

/// The sample quantile of `share`, 0 <= share < 1: an element of `values`, never the mean of two. Reorders
/// `values`. Precondition: not empty.
template <class T, class Projection = std::identity>
const T& quantile(std::vector<T>& values, double share, Projection by = {}) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size()));
  std::ranges::nth_element(values, at, {}, by);
  return *at;
}

/// The sample median; of an even number of values the upper of the two middle ones.
template <class T, class Projection = std::identity>
const T& median(std::vector<T>& values, Projection by = {}) {
  return quantile(values, 0.5, by);
}

/// Standard deviation that a normal sample of this median absolute deviation would have (factor 1/0.6745).
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
