// Completion times as a picture: horizontal bars, one a strategy, in an SVG file that needs nothing else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "balancer/flowsim/strategies.hpp"

namespace weft::flowsim {

std::string completion_plot(std::string_view title, const std::vector<SpreadOutcome>& outcomes);

}  // namespace weft::flowsim
