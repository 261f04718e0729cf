// Which labels spread queue pairs evenly over the paths of their pair of NICs. Pure.
#pragma once

#include <vector>

#include "probes/plan/path_learner.hpp"

namespace weft {

/// `count` labels of traced routes, one a queue pair: the paths in turn, so that the queue pairs of any two
/// differ by one at most, and of each path its labels in turn. Only of routes that are known to one path and
/// reached the peer; empty where there is none.
std::vector<PathLabel> even_labels(const PathTable& table, const PairRoutes& pair, std::size_t count);

}  // namespace weft
