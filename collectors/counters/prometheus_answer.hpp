// What a Prometheus answers to a query with a range selector, read series by series without a document of it:
// the answer of 147,456 ports is 34 MB, and its document would be 600. Nothing of it is believed. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft::counters {

/// Views of the answer: they live as long as it, and no longer than the call that is given the series.
struct PrometheusSeries {
  std::vector<std::pair<std::string_view, std::string_view>> labels;
  std::vector<std::pair<Nanoseconds, double>> points;  // since 1970; what is no number is NaN
  /// Empty: it has no such label, or an empty one, which Prometheus holds to be the same.
  std::string_view label(std::string_view name) const;
};

/// Reads the answer, series by series. What stands beside the members that are known is passed over and need
/// not be right JSON. Errors (invalid_input): it is no answer of a Prometheus, more or longer labels, samples
/// or depth than any has, the server's own words, or those of `take`.
Result<void> read_matrix(std::string_view answer,
                         const std::function<Result<void>(const PrometheusSeries&)>& take);

}  // namespace weft::counters
