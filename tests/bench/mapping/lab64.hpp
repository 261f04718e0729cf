// All paths of 64 pairs of NICs over real packets: 4 leaves, 4 spines, the kernel's hash; by weft and by
// scamper, where that is installed. Needs root.
#pragma once

#include "tests/bench/support/figures.hpp"

namespace weft::bench {

void measure_lab64(Figures& figures);

}  // namespace weft::bench
