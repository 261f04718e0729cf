// Where queue pairs with default settings go between two NICs, as a table for people: the ports that they use
// and how they spread over the paths.
#pragma once

#include <string>

#include "probes/pathmap/path_learner.hpp"

namespace weft {

/// `chosen`: one label a queue pair, traced by `learner` among others; paths that only others take are listed
/// too.
std::string audit_table(const Fabric& fabric, const PathLearner& learner,
                        const std::vector<PathLabel>& chosen);

}  // namespace weft
