// Cables that lead elsewhere than the fabric says: what traces look like that contradict it.
#pragma once

#include <vector>

#include "probes/plan/path_learner.hpp"
#include "topology/findings/observation.hpp"

namespace weft::plan {

struct Miswirings {
  std::vector<ChannelEvidence> channels;  // both directions of each cable that is not where it should be
  std::vector<HostEvidence> hosts;  // nodes that are joined though no cable should: whose ports are not known
};

/// A port that traces came in by from one node, always the same, and never from the one that the fabric's
/// cable joins it with. Eight traces at least: a route that changes in the midst of a trace may look like
/// this once. A port that several nodes seem to lie behind is no cable but a switch that answers from
/// another port than the probe came in by.
Miswirings miswirings(const Fabric& fabric, const PathLearner& learner);

}  // namespace weft::plan
