// The paths between two NICs of an InfiniBand fabric, from the switches' forwarding tables.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "probes/mad/mads.hpp"
#include "probes/plan/path_learner.hpp"
#include "probes/plan/trace_plan.hpp"
#include "topology/routing/forwarding_tables.hpp"

namespace weft {

struct InfinibandTrace {
  PathLearner learner;
  std::uint32_t labels = 0;                          // the target's LIDs
  std::vector<std::pair<Lid, std::string>> without;  // those whose paths are not known, and why
};

/// The learner keeps its paths in `table` and speaks of `fabric`, which is that of the file: both must
/// outlive it. Errors: not_found (one of the NICs is not in the subnet), absent (it has no LID), those of
/// reading it.
Result<InfinibandTrace> trace_infiniband(Mads& mads, const Fabric& fabric, const NicPair& pair,
                                         PathTable& table);

}  // namespace weft
