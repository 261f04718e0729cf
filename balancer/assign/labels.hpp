// Labels: from the route a QP shall take to a label that takes it, out of the path map.
#pragma once

#include <vector>

#include "balancer/assign/assign.hpp"
#include "balancer/assign/known_paths.hpp"

namespace weft {

/// Gives every QP that crosses leaves a label known to take its route; QPs of one flow on one route get
/// different labels as far as there are. `flows` are those the QPs index. Precondition: every route is one of
/// known.routes() for its flow.
void choose_labels(std::vector<SteeredQp>& qps, const std::vector<Flow>& flows, const KnownPaths& known);

}  // namespace weft
