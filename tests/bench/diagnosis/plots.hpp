// Precision and recall against the faults' loss rate and against the probes spent, drawn for weft and the
// comparators: build/bench/diagnosis_loss.svg and diagnosis_probes.svg.
#pragma once

#include "tests/bench/diagnosis/seeds.hpp"
#include "topology/model/fabric.hpp"

namespace weft::bench {

/// Prints the points too. Each comparator has at each point the setting and threshold that are best there;
/// weft has its defaults. False where a file cannot be written.
bool plot_loss_rates(const Fabric& fabric, const Seeds& seeds);
bool plot_probes(const Fabric& fabric, const Seeds& seeds);

}  // namespace weft::bench
