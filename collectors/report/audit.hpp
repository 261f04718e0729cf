// Where queue pairs with default settings go between two NICs: the ports that they use and how they spread
// over the paths; and where that is asked for, what came of moving them to other ports while they lived.
// Values.
#pragma once

#include <map>
#include <span>
#include <string>

#include "probes/datapath/flow_engine.hpp"
#include "probes/plan/path_learner.hpp"

namespace weft::report {

/// Queue pairs by port and by path. A port that could not be traced is on no path.
struct QpSpread {
  std::map<PathLabel, std::size_t> ports;
  std::map<PathSetId, std::size_t> paths;  // those that none takes are there with zero
};

struct LiveMove {
  std::size_t moved = 0;
  std::size_t to_another_path = 0;              // of these
  std::map<std::string, std::size_t> manners;   // by which way, of these
  std::map<std::string, std::size_t> failures;  // why the others did not
  QpSpread after;                               // of all that live
};

struct Audit {
  PortId src;
  PortId dst;
  std::size_t queue_pairs = 0;
  QpSpread spread;  // as they were connected
  std::optional<LiveMove> move = std::nullopt;
};

/// `learner` traced the ports of the queue pairs, among others.
Audit audit_of(PortId src, PortId dst, const plan::PathLearner& learner,
               std::span<const datapath::AuditedQp> qps);
/// Of the same queue pairs, all of which were to move.
LiveMove move_of(PortId src, PortId dst, const plan::PathLearner& learner,
                 std::span<const datapath::AuditedQp> qps);

}  // namespace weft::report
