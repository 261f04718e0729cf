// The paths of one pair of NICs as a table for people: each path, and the labels that select it.
#pragma once

#include <string>

#include "probes/pathmap/path_learner.hpp"

namespace weft {

/// `tried`: the labels that were traced, for the headline.
std::string path_table(const Fabric& fabric, const PathLearner& learner, std::uint32_t tried);

}  // namespace weft
