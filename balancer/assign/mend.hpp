// Mending a placement: what a solver does with items that have no place yet.
#pragma once

#include <vector>

#include "balancer/assign/chains.hpp"
#include "balancer/assign/placement.hpp"

namespace weft::assign {

/// Puts each of `items` on the route named for it (wanted[item]), as far as it may take that; answers the
/// others, in order.
std::vector<ItemId> put_wanted(Placement& placement, const std::vector<ItemId>& items,
                               const std::vector<SwitchRoute>& wanted);

/// Takes items off every channel that is beyond its room, as few bytes as will do; answers which, the
/// greatest first.
std::vector<ItemId> shed(Placement& placement);

/// How long a search may go on.
struct Effort {
  std::size_t forced = 0;   // items that may force others out; as many may lack a chain before it is hopeless
  std::uint64_t steps = 0;  // of chains
};

/// Places `loose` by chains; an item without one forces others out, which look for a place in turn. Answers
/// what could not be placed.
std::vector<ItemId> mend(Chains& chains, const std::vector<ItemId>& loose, const Effort& effort);

}  // namespace weft::assign
