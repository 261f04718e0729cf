// The bound that knows the labels: with few labels a pair, no assignment reaches the bound of the fabric.
// What none can beat over the routes that are known comes from three arguments, the strongest counts: at each
// stage of the routes every QP takes one of the channels its routes have there (a flow problem, whatever the
// size); the linear programme (lp_bound.hpp); and, for equal QPs, a search through all assignments within a
// bounded number of steps: small cases are told exactly.
#pragma once

#include <cstddef>
#include <vector>

#include "balancer/assign/instance.hpp"

namespace weft::assign {

struct LabelBound {
  double bytes = 0;  // on the reference rate
  /// A better assignment than the one found so far, when the search came upon one; else empty.
  std::vector<SwitchRoute> better;
};

/// `low`: a bound that holds anyway (the fabric's). `found`: what an assignment came to. `divisible`: QPs may
/// carry any shares. The routes of `instance` are those known.
LabelBound bound_by_labels(const Instance& instance, double low, double found, bool divisible,
                           std::size_t lp_variables);

/// Labels to probe for a pair of `paths` paths until all are known with a probability of 99 %: each of them
/// is missed with (1 - 1 / paths) ^ labels, where switches hash evenly.
std::uint32_t labels_for(std::uint32_t paths);

}  // namespace weft::assign
