// Evening out: the bound is met by the busiest channels; the others decide when most flows are through. From
// the highest level of load down, every channel gives an item away wherever a chain takes it without another
// channel coming up to that level: what is left cannot be lowered without raising what is as high (a local
// optimum of the order that compares the busiest channels first, then the next-busiest, and so on).
#pragma once

#include <vector>

#include "balancer/assign/placement.hpp"

namespace weft::assign {

/// Precondition: all items placed. Bounded in steps; the busiest channel never gets busier, and none beyond
/// `most`, where it is not yet.
void even_out(Placement& placement, const Routes& routes, std::vector<double> most, std::uint64_t seed);

}  // namespace weft::assign
