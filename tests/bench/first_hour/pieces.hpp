// The pieces of `./bootstrap bench first_hour`; each adds its figures.
#pragma once

#include "tests/bench/support/figures.hpp"

namespace weft::bench {

void measure_discovery(Figures& figures);
void measure_discovery_time(Figures& figures);

}  // namespace weft::bench
