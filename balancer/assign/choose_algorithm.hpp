// Which all-reduce wins at which message size on this fabric: steps cost latency, bytes cost the time of the
// busiest channel under the balancer's bound, and the two pull in opposite directions (Hockney's alpha-beta
// model, with the fabric's own bound as beta).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "balancer/assign/capacities.hpp"
#include "balancer/demand/collectives.hpp"

namespace weft::assign {

/// As measured on the fabric: measured_cost() takes it from a sweep.
struct MeasuredCost {
  Nanoseconds latency_in_leaf{};  // one step, one way, between hosts of one leaf, software included
  Nanoseconds latency_across{};   // the same across leaves
  std::optional<Bandwidth> link = std::nullopt;  // what one of the fastest links carries; absent: its rate
};

struct AlgorithmTime {
  demand::Collective collective = demand::Collective::ring;
  Nanoseconds time{};
};

/// ring, tree, recursive doubling and halving-doubling over `ranks`, the quickest first. Two ranks and more.
std::vector<AlgorithmTime> all_reduce_times(const Fabric& fabric, const std::vector<Avoided>& avoid,
                                            std::span<const PortId> ranks, Bytes size,
                                            const MeasuredCost& cost);

}  // namespace weft::assign
