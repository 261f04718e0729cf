// Delays that come and go: rows of round trips whose middle is as fast as ever and whose slowest are not.
#pragma once

#include <string>
#include <vector>

#include "probes/diagnosis/delay/delay_rows.hpp"
#include "probes/diagnosis/report.hpp"

namespace weft::diagnosis {

/// "120 us", "2.40 ms".
std::string in_words(double micros);

/// Where the slowest of such rows take longer than `ceiling` (microseconds) and these rows lie on one cable
/// between switches, that is a suspicion: other traffic's queues do the same. A host's own cable is not
/// judged by that, for its loop may have been late. `left`: by row, how late its middle is beyond what
/// findings explain. They add to the account of late round trips.
void report_tails(const Fabric& fabric, const DelayRows& rows, const std::vector<double>& left,
                  double ceiling, Report& report);

}  // namespace weft::diagnosis
