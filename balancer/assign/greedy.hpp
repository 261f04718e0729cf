// Greedy placement: what the balancer is compared with, and how it starts where no colouring applies.
#pragma once

#include <vector>

#include "balancer/assign/placement.hpp"

namespace weft::assign {

/// Items by size, the greatest first; those of one flow together.
std::vector<ItemId> by_size(const Instance& instance);

/// Puts `item` on the route whose busiest channel is the least busy with it.
void place_least_loaded(Placement& placement, ItemId item);

/// The greatest first, each on the least loaded route. Fills the instance's routes.
std::vector<SwitchRoute> solve_greedy(Instance& instance, const Routes& routes);

}  // namespace weft::assign
