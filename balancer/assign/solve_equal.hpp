// The solver for equal items: exact by colouring where the fabric is whole, else colouring as a start and
// chains to mend it. Rooms rise in three steps: every leaf's own bound, the fabric's bound, and then the
// least that lets every item in.
#pragma once

#include <optional>
#include <vector>

#include "balancer/assign/bounds.hpp"
#include "balancer/assign/placement.hpp"
#include "balancer/assign/skeleton.hpp"

namespace weft {

/// A route for every item. `instance.equal` must hold; its routes are filled as needed.
std::vector<Route> solve_equal(Instance& instance, const Routes& routes,
                               const std::optional<Skeleton>& skeleton, const Bounds& bounds,
                               std::uint64_t seed);

/// Bytes that each channel has room for when no leaf goes beyond its own bound: whole items.
std::vector<double> rooms_by_leaf(const Instance& instance, const Routes& routes, const Bounds& bounds);
/// The same when no channel goes beyond `bytes` (on the reference rate).
std::vector<double> rooms_of(const Instance& instance, double bytes);

/// Places all of `loose`, raising the rooms from what they are now to rooms_of(bound) and further as far as
/// it takes. Answers how many items that were placed before had to move.
std::uint64_t place_all(Placement& placement, std::vector<ItemId> loose, double bound, std::uint64_t seed);

}  // namespace weft
