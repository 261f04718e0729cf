// The paths between two NICs of an InfiniBand lab, from the switches' forwarding tables.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/words.hpp"
#include "probes/pathmap/path_learner.hpp"
#include "probes/plan/trace_plan.hpp"
#include "topology/lab/ib_lab.hpp"
#include "topology/routing/forwarding_tables.hpp"

namespace weft {

struct InfinibandTrace {
  PathLearner learner;
  std::uint32_t labels = 0;                          // the target's LIDs
  std::vector<std::pair<Lid, std::string>> without;  // those whose paths are not known, and why
};

/// `words` are those of the program, with which it starts itself again inside the lab. The learner keeps its
/// paths in `table` and speaks of the lab's fabric: both must outlive it.
Result<InfinibandTrace> trace_infiniband(const IbLab& lab, const NicPair& pair, PathTable& table,
                                         const Arguments& words);

}  // namespace weft
