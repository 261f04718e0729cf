// weft simulate FABRIC.yaml --collective all-reduce: which algorithm wins at which size.
#pragma once

#include <vector>

#include "balancer/assign/capacities.hpp"
#include "cli/options.hpp"

namespace weft {

/// Prints the table or the JSON document; `avoided` is what faults took away.
int all_reduce_table(const po::variables_map& values, const Fabric& fabric,
                     const std::vector<Avoided>& avoided);

}  // namespace weft
