// From the counts of a run (losses or corrupt packets) to findings and doubts.
#pragma once

#include "probes/diagnosis/count_problem.hpp"
#include "probes/diagnosis/report.hpp"

namespace weft {

/// Finds what lost packets (cause loss, down or mtu) or corrupted them (cause corruption); adds to `report`.
void report_counts(const Fabric& fabric, const Observations& observations, Counted counted,
                   const Tolerance& tolerance, Report& report);

}  // namespace weft
