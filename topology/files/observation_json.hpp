// Observations as JSON Lines (docs/schema/observation.schema.json): one probe, load, channel or host
// observation a line. `weft diagnose` reads them.
#pragma once

#include <string>

#include "topology/findings/observation.hpp"

namespace weft {
class Fabric;
}

namespace weft::files {

/// All of `observations`, probes first, each line with its number, from 0 on, and ended by a newline. Rates
/// are in bits per second, times in microseconds.
std::string observation_lines(const Fabric& fabric, const Observations& observations);

}  // namespace weft::files
