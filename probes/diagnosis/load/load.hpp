// Load: which channels hold flows of real-size packets back, and whether the channel itself is slow (rate) or
// other traffic shares it (congestion). A slow channel passes min(o, r) however hard it is pressed with o;
// one of capacity C that carries other traffic x besides passes o C / (o + x), which grows with o. So rounds
// with different load over a channel tell the two apart; so does what small probes met there while weft sent
// no load: a queue stands on a congested channel, not on a slow one.
#pragma once

#include "probes/diagnosis/delay/delay.hpp"
#include "probes/diagnosis/report.hpp"
#include "topology/findings/observation.hpp"

namespace weft::diagnosis {

/// Adds rate and congestion findings, and hypotheses that further load rounds would settle, to `report`; asks
/// it for losses already found.
void report_loads(const Fabric& fabric, const Observations& observations, const DelayShifts& shifts,
                  Report& report);

}  // namespace weft::diagnosis
