// Weighing: QPs of one flow need not carry the same. Given the routes of a flow's QPs, their shares are set
// so that the busiest channel carries as little as it can: a convex problem, solved by descent on a soft
// maximum. That goes below what equal QPs can do, down to the fractional optimum where the routes allow it.
#pragma once

#include <vector>

#include "balancer/assign/bounds.hpp"

namespace weft {

/// The bytes of every item, those of a flow's items adding up to the flow; taken[item]: its route. `bound` is
/// the least the busiest channel can carry (fractional): the search ends when it comes within a thousandth.
std::vector<double> weigh(const Instance& instance, const std::vector<SwitchRoute>& taken, double bound);

}  // namespace weft
