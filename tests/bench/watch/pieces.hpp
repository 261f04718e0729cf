// The pieces of `./bootstrap bench watch`; each adds its figures.
#pragma once

#include "tests/bench/support/figures.hpp"

namespace weft::bench {

/// Path-windows checked and summed by one thread.
void measure_ingest(Figures& figures);
/// On the lab's fabric, 16 hosts: how long until drawn faults open an incident, and whether it is the right
/// one. Simulated.
void measure_detection(Figures& figures);
/// Five simulated days of the lab's fabric with background losses.
void count_false_incidents(Figures& figures);
/// 24,576 NICs with eight faults: one look, and how long until a loss of 1 % is found, by tier.
void measure_look_24576(Figures& figures);
/// CPU time, memory and bytes of `weft agent --standing`, with one NIC and with eight. Needs root.
void measure_agent(Figures& figures);
/// The database of a watcher of 24,576 NICs: its size in 400 days, and the writing of ten seconds.
void measure_store_400d(Figures& figures);
/// A scrape of its metrics.
void measure_metrics_24576(Figures& figures);

}  // namespace weft::bench
