// Mending a placement: what a solver does with items that have no place yet.
#pragma once

#include <vector>

#include "balancer/assign/chains.hpp"
#include "balancer/assign/placement.hpp"

namespace weft {

/// Puts each of `items` on the route named for it (wanted[item]), as far as it may take that; answers the
/// others, in order.
std::vector<ItemId> put_wanted(Placement& placement, const std::vector<ItemId>& items,
                               const std::vector<Route>& wanted);

/// Takes items off every channel that is beyond its room, as few bytes as will do; answers which, the
/// greatest first.
std::vector<ItemId> shed(Placement& placement);

/// Places `loose` by chains; items without one force others out, `forced` times at most. Adds the moves of
/// items that were placed to `moves`. Answers what could not be placed.
std::vector<ItemId> mend(Chains& chains, std::vector<ItemId> loose, std::size_t forced, std::uint64_t& moves);

}  // namespace weft
