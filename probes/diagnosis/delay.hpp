// Delay: a shift of the round-trip time over all paths that cross one channel. Each observation's median RTT
// is taken against the median of those of equal length and size; a channel's shift is the median of what is
// left over its observations, judged against the shifts of all channels of the same run.
#pragma once

#include <vector>

#include "probes/diagnosis/report.hpp"
#include "topology/findings/observation.hpp"

namespace weft {

/// Shifts in microseconds, before any fault is taken out; NaN where nothing measured crossed the channel.
struct DelayShifts {
  std::vector<double> of_channel;
  double spread = 0;  // of healthy channels
  bool measured() const { return spread > 0; }
};

/// Adds delay findings to `report`.
DelayShifts report_delays(const Fabric& fabric, const Observations& observations, const Tolerance& tolerance,
                          Report& report);

}  // namespace weft
