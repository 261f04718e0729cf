// Construct: the exact assignment of equal flows on a healthy Clos, by edge colouring: leaves are vertices,
// spines (planes) colours; in three tiers a second colouring per plane gives the cores, pods being the
// vertices.
#pragma once

#include <vector>

#include "balancer/assign/instance.hpp"
#include "balancer/assign/skeleton.hpp"

namespace weft::assign {

/// A route for every item; `order` holds every item once. Two tiers: every uplink and downlink of a leaf
/// within ceil(d / uplinks). Three tiers: the same at the leaves, and every core link within ceil(n / cores)
/// of the n flows its pod sends over that plane. Items of like size, and those of one flow, should be next to
/// each other in `order`: each link then gets about as many of each size.
std::vector<SwitchRoute> construct(const Instance& instance, const Routes& routes, const Skeleton& skeleton,
                                   const std::vector<ItemId>& order);

}  // namespace weft::assign
