// Squeezing: the room on every channel shrinks towards a goal, chains making the items fit each time; and
// placing items that the bound has no room for.
#pragma once

#include <vector>

#include "balancer/assign/placement.hpp"

namespace weft::assign {

/// Lowers the load of the busiest channel as far towards `goal` bytes (on the reference rate) as a bounded
/// search finds. Precondition: all items placed.
void squeeze(Placement& placement, double goal, std::uint64_t seed);

/// Places all of `loose`: within the rooms as they are, else within rooms_of(bytes), else beyond, squeezed.
void place_all(Placement& placement, std::vector<ItemId> loose, double bytes, std::uint64_t seed);

}  // namespace weft::assign
