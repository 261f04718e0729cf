// The solver for change: a link failed, came back or slowed down, a job arrived or left. QPs keep their
// routes wherever these still serve; the others, and those that crowd a channel, find a place by the shortest
// chains.
#pragma once

#include <optional>
#include <vector>

#include "balancer/assign/bounds.hpp"

namespace weft {

/// A route for every item, the fabric's bound restored; before[item]: the route it had, absent for a new one.
/// The instance's routes are filled.
std::vector<SwitchRoute> solve_again(Instance& instance, const Routes& routes, const Bounds& bounds,
                                     const std::vector<std::optional<SwitchRoute>>& before,
                                     std::uint64_t seed);

}  // namespace weft
