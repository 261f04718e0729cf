// Delay: one additive fit of what the channels on its way add to each round trip, none less than nothing,
// against the fastest round trips of the same length and size. What the round trips cannot tell apart (the
// directions of a host's cable, the uplinks and downlinks of a spine, the two cables of a switch with two
// neighbours) is a set of alternatives; what all paths of a length share is told of the fabric.
#pragma once

#include <vector>

#include "probes/diagnosis/report.hpp"
#include "topology/findings/observation.hpp"

namespace weft::diagnosis {

/// Shifts in microseconds, before any fault is taken out; NaN where nothing measured crossed the channel.
struct DelayShifts {
  std::vector<double> of_channel;
  double spread = 0;  // of healthy channels
  bool measured() const { return spread > 0; }
};

/// Adds delay findings, the account of late round trips and the smallest delay that would have shown.
DelayShifts report_delays(const Fabric& fabric, const Observations& observations, const Tolerance& tolerance,
                          Report& report);

}  // namespace weft::diagnosis
