// KnownLosses: what the findings so far say that each channel loses of the packets of a load round.
#pragma once

#include <vector>

#include "probes/diagnosis/load/load_rounds.hpp"
#include "probes/diagnosis/report.hpp"

namespace weft {

/// By channel. A channel that is one of several of which one is at fault may lose nothing.
std::vector<KnownLoss> known_losses(const Fabric& fabric, const Report& report);

}  // namespace weft
