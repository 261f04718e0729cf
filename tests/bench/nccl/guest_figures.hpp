// Figures of libweft-nccl.so under programs in guests, over soft-RoCE and real packets.
#pragma once

#include "tests/bench/support/figures.hpp"

namespace weft::bench {

/// Which: labels, cost, moves, failure or gain; empty: all. Each boots four guests, or shares them. Without
/// what guests need nothing is measured, and stderr says why.
void add_guest_figures(Figures& figures, std::string_view which);

}  // namespace weft::bench
