// The pieces of `bench counters`.
#pragma once

#include "tests/bench/support/pieces.hpp"

namespace weft::bench::counters {

/// 40,000 ports, 40 faults, counters that lie, ten probes a second: what is named at .95 after 600 s.
void measure_fused(Figures& figures);
/// The same ports and lies without a fault.
void measure_healthy(Figures& figures);
/// A counter that implies a loss of 1e-3 where a million probes lost none.
void measure_contradicted(Figures& figures);
/// An exporter that lies alike about both counters of a port; and the first ports where one tells of all.
void measure_false_exporter(Figures& figures);
/// 4,096 ports of four types of modules over 45 days, 1.5 % of which fail: whose corrected errors warn.
void measure_warnings(Figures& figures);
/// Pause frames of slow receivers, slow switches and rings in a fabric of 256 hosts: who began.
void measure_pauses(Figures& figures);
/// 20,000 cables of one faulty direction each, by what light does: which part is broken, and at which end.
void measure_repair(Figures& figures);
/// Histograms (of up to an hour at 400 Gb/s) of errors that come alone, in bursts and as both: whether the
/// range of the forecast holds the true share of codewords that are not repaired.
void measure_tails(Figures& figures);
/// What real devices said and their owners published: how many of its fields are read right, and which not.
void measure_captured(Figures& figures);
/// Ten metrics of 147,456 ports out of a real Prometheus on loopback, by the clock; some four minutes, most
/// of which it takes to give the server its data.
void measure_server(Figures& figures);

}  // namespace weft::bench::counters
