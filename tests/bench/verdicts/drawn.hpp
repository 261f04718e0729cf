// The drawn faults of the benchmark: swept, judged, pooled, printed.
#pragma once

#include "tests/bench/support/figures.hpp"
#include "tests/bench/verdicts/options.hpp"

namespace weft::bench {

void bench_drawn(const VerdictOptions& options, Figures& figures);

}  // namespace weft::bench
