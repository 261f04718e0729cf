// `weft balance --place`: which parallelism of a job should sit at which layer of the fabric.
#pragma once

#include "cli/options.hpp"
#include "topology/model/fabric.hpp"

namespace weft {

/// --place, --gpus, --nvlink.
void add_place_options(po::options_description& options);

/// Prints the nesting (a table, or weft.placement/1).
int place_groups_of(const po::variables_map& values, const Fabric& fabric);

}  // namespace weft
