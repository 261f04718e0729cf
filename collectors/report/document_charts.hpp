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

/// What the flows of an assignment, or the queue pairs of an audit, put on the channels that they cross.
struct CarriedLoads {
  std::string yardstick;  // what one is: "the bound", "an even share"
  /// By channel, in yardsticks; zero of a channel at a NIC, which no choice of paths changes. Of an
  /// assignment bytes as on a channel of the reference rate.
  std::map<std::string, double> by_channel;
};

/// Links that have a load, the greatest first, and the greatest as a table. One has a load at least.
std::string load_chart(const CarriedLoads& loads);

}  // namespace weft::report
