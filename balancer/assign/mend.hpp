// Mending a placement: what a solver does with items that have no place yet.
#pragma once

#include <vector>

#include "balancer/assign/chains.hpp"
#include "balancer/assign/placement.hpp"

namespace weft {

/// Puts each of `items` on the route named for it (wanted[item]), as far as it may take that; answers the
/// others, in order.
std::vector<ItemId> put_wanted(Placement& placement, const std::vector<ItemId>& items,
                               const std::vector<SwitchRoute>& wanted);

/// Takes items off every channel that is beyond its room, as few bytes as will do; answers which, the
/// greatest first.
std::vector<ItemId> shed(Placement& placement);

/// Places `loose` by chains; items without one force others out, `forced` times at most. Answers what could
/// not be placed.
std::vector<ItemId> mend(Chains& chains, std::vector<ItemId> loose, std::size_t forced);

/// Places all of `loose`: within the rooms as they are, else within rooms_of(bytes), else in the least rooms
/// beyond that which take them.
void place_all(Placement& placement, std::vector<ItemId> loose, double bytes, std::uint64_t seed);

}  // namespace weft
