// The fractional optimum: the least the busiest channel can carry when every flow may be split over its
// routes in any shares. A linear programme, solved by CLP where the build has it.
#pragma once

#include <cstddef>
#include <optional>

#include "balancer/assign/instance.hpp"

namespace weft::assign {

/// Bytes on the reference rate; routes must be filled. Absent: built without CLP, or the programme would have
/// more than `most_variables` (one for each route of each group of flows).
std::optional<double> lp_optimum(const Instance& instance, std::size_t most_variables);

}  // namespace weft::assign
