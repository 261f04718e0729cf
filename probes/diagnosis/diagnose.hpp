// diagnose: from observations to a diagnosis. Pure and deterministic: the same input gives the same answer.
#pragma once

#include "topology/findings/diagnosis.hpp"
#include "topology/findings/observation.hpp"
#include "topology/model/fabric.hpp"

namespace weft {

/// Findings about every channel and host that `observations` can speak of; one that they cannot is not named.
/// Fills all of Diagnosis except coverage.complete and the run's verdict, which depend on what was asked:
/// the caller sets coverage.complete and then verdict = run_verdict(...).
Diagnosis diagnose(const Fabric& fabric, const Observations& observations);

}  // namespace weft
