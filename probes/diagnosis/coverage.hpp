// What of a fabric the probes of a run crossed.
#pragma once

#include "topology/findings/diagnosis.hpp"
#include "topology/findings/observation.hpp"
#include "topology/model/fabric.hpp"

namespace weft {

/// `probed`: channels crossed by packets enough to show a loss of 5 %, the least that is `failed`, with
/// confidence .99: ln(.01) / ln(.95) = 90. `missing`: channels that no probe and no flow crossed.
/// Of a path known only as a set, each channel counts with its share.
Coverage coverage_of(const Fabric& fabric, const Observations& observations);

}  // namespace weft
