// The pieces of `./bootstrap bench verdicts` beside the drawn faults; each adds its figures.
#pragma once

#include "tests/bench/support/figures.hpp"
#include "tests/bench/verdicts/options.hpp"

namespace weft::bench {

/// Losses in runs, in one path's packets: told from rows alone; with `order`, rows also say which packets.
void bench_bursts(const VerdictOptions& options, Figures& figures);
void bench_bursts_in_order(const VerdictOptions& options, Figures& figures);

}  // namespace weft::bench
