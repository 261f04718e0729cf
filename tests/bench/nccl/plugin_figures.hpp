// What NCCL's tuner and profiler of libweft-nccl.so cost, and how good and how equal the tuner's choices are.
#pragma once

#include "tests/bench/support/figures.hpp"

namespace weft::bench {

/// tuner_ns_p99, profiler_ns, tuner_regret, tuner_disagree.
void add_plugin_figures(Figures& figures);

}  // namespace weft::bench
