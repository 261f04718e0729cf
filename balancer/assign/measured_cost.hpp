// What a sweep's observations say of the cost of a message: how long a small one takes, and what a link
// carries. The parameters of choose_algorithm.
#pragma once

#include "balancer/assign/choose_algorithm.hpp"
#include "topology/base/result.hpp"
#include "topology/findings/observation.hpp"

namespace weft::assign {

/// Latencies: half the median round trip of the smallest probes, within a leaf (paths of two channels) and
/// across; where only one of them was probed it stands for both. The link: the median, over channels between
/// switches, of the most that arrived over one in a round of load; absent without load. Usage error where no
/// probe has a round trip.
Result<MeasuredCost> measured_cost(const Fabric& fabric, const Observations& seen);

}  // namespace weft::assign
