// The solver for items of different sizes. Meeting the bound exactly is NP-hard there (bin packing); this
// comes within a percent or two of it: a colouring in order of size, so that every link gets one item of each
// size class, then rooms that shrink step by step towards the bound, with chains making each fit.
#pragma once

#include <optional>
#include <vector>

#include "balancer/assign/bounds.hpp"
#include "balancer/assign/placement.hpp"
#include "balancer/assign/skeleton.hpp"

namespace weft {

/// A route for every item; the instance's routes are filled.
std::vector<SwitchRoute> solve_unequal(Instance& instance, const Routes& routes,
                                       const std::optional<Skeleton>& skeleton, const Bounds& bounds,
                                       std::uint64_t seed);

}  // namespace weft
