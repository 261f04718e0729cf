// Charts of values as SVG, in the classes of the page's style sheet, each with its figures as a table. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::report {

/// A name and its values.
using Sample = std::pair<std::string, std::vector<double>>;

/// Quantile functions of one or two samples: against the share of values that are no more, the value. With
/// two the table has their quotient too. Each has one value at least.
std::string quantile_chart(std::string_view label, const std::vector<Sample>& samples);

/// Links by their load over the bound, the greatest first, and the greatest as a table.
std::string load_chart(const std::map<std::string, double>& loads);

}  // namespace weft::report
