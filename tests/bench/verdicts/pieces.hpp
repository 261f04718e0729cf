// The pieces of `./bootstrap bench verdicts` beside the drawn faults; each adds its figures.
#pragma once

#include "tests/bench/support/figures.hpp"
#include "tests/bench/verdicts/options.hpp"

namespace weft::bench {

/// Losses in runs, in one path's packets: told from rows alone; with `order`, rows also say which packets.
void bench_bursts(const VerdictOptions& options, Figures& figures);
void bench_bursts_in_order(const VerdictOptions& options, Figures& figures);

/// What a healthy run says it would have shown, put into a run of another seed.
void bench_sensitivity(const VerdictOptions& options, Figures& figures);
/// One channel that loses .1 to .3 %, where all others lose a little too.
void bench_small_loss(const VerdictOptions& options, Figures& figures);

/// Fabrics without a fault: healthy, and nothing named.
void bench_sound(const VerdictOptions& options, Figures& figures);
/// A host's transmitter that loses everything.
void bench_dead_transmitter(const VerdictOptions& options, Figures& figures);
/// A channel that swallows what is larger than 1500 to 4096 bytes.
void bench_mtu(const VerdictOptions& options, Figures& figures);
/// The same loss on every channel.
void bench_even_loss(const VerdictOptions& options, Figures& figures);
/// Random allocations of two hosts and more in a fabric without a fault.
void bench_partial_hosts(const VerdictOptions& options, Figures& figures);
/// A cable that is down and comes back, over and over.
void bench_flaps(const VerdictOptions& options, Figures& figures);
/// Half of all cables between the switches of three pods lose 5 to 60 %; how long it takes to tell.
void bench_half_bad(const VerdictOptions& options, Figures& figures);
/// A host that its own machine holds up: no channel's fault.
void bench_excuse(const VerdictOptions& options, Figures& figures);

}  // namespace weft::bench
