// The drawn faults of the benchmark: swept, judged, pooled, printed.
#pragma once

#include "tests/bench/support/figures.hpp"
#include "tests/bench/verdicts/options.hpp"

namespace weft::bench {

void bench_drawn(const VerdictOptions& options, Figures& figures);
/// A quarter as many, with losses of 1e-6 to 1e-4 on every channel besides.
void bench_drawn_background(const VerdictOptions& options, Figures& figures);
/// As many, and every port tells that it counted no error.
void bench_drawn_counters(const VerdictOptions& options, Figures& figures);

}  // namespace weft::bench
