// The map of a whole fabric: 24,576 NICs in three tiers, learned from a few traces of each; and its refresh
// after a spine was replaced.
#pragma once

#include "tests/bench/support/figures.hpp"

namespace weft::bench {

void measure_full_map(Figures& figures);

}  // namespace weft::bench
