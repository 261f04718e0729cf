// The pieces of `./bootstrap bench first_hour`; each adds its figures.
#pragma once

#include "tests/bench/support/figures.hpp"

namespace weft::bench {

void packages(Figures& figures);

}  // namespace weft::bench
