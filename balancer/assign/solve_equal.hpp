// The solver for equal items: exact by colouring where the fabric is whole, else colouring as a start and
// chains to mend it. Rooms rise in three steps: every leaf's own bound, the fabric's bound, and then the
// least that lets every item in.
#pragma once

#include <optional>
#include <vector>

#include "balancer/assign/bounds.hpp"
#include "balancer/assign/skeleton.hpp"

namespace weft::assign {

/// A route for every item. `instance.equal` must hold; its routes are filled as needed.
std::vector<SwitchRoute> solve_equal(Instance& instance, const Routes& routes,
                                     const std::optional<Skeleton>& skeleton, const Bounds& bounds,
                                     std::uint64_t seed);

}  // namespace weft::assign
