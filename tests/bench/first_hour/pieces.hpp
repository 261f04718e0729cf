// The pieces of `./bootstrap bench first_hour`; each adds its figures.
#pragma once

#include "tests/bench/support/figures.hpp"

namespace weft::bench {

/// Rows of all tables and help pages that are wider than 80 columns.
void rows_over_80(Figures& figures);

}  // namespace weft::bench
