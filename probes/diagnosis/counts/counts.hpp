// From the counts of a run (losses or corrupt packets) to findings and hypotheses, in passes.
#pragma once

#include "probes/diagnosis/counts/count_problem.hpp"
#include "probes/diagnosis/report.hpp"

namespace weft::diagnosis {

/// Finds what lost packets (cause loss, down or mtu) or corrupted them (cause corruption); adds to `report`.
/// What swallows all packets is found first. Those that it swallowed tell of nothing behind it, but would
/// make channels look different that no other packet tells apart: they are left out, and the rest is looked
/// at anew.
void report_counts(const Fabric& fabric, const Observations& observations, Counting counting,
                   const Tolerance& tolerance, Report& report);

}  // namespace weft::diagnosis
