// Signs: what is known of a channel besides probes (link state, counters), where the probes found nothing.
#pragma once

#include "probes/diagnosis/report.hpp"
#include "topology/findings/observation.hpp"

namespace weft {

/// Adds a finding for every channel whose signs alone make a cause more likely than not, unless the report
/// already explains that channel. Call when the findings from probes are in.
void report_signs(const Fabric& fabric, const Observations& observations, Report& report);

}  // namespace weft
