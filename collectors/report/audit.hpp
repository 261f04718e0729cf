// Where queue pairs with default settings go between two NICs: the ports that they use and how they spread
// over the paths; as a table for people and as a document (weft.audit/1).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "probes/pathmap/path_learner.hpp"
#include "topology/files/document.hpp"
#include "topology/model/path_map.hpp"

namespace weft {

struct Audit {
  PortId src;
  PortId dst;
  std::size_t queue_pairs = 0;
  std::map<PathLabel, std::size_t> ports;  // queue pairs on each
  std::map<PathSetId, std::size_t> paths;  // the same; those that none takes are there with zero
};

/// `chosen`: one label a queue pair, traced by `learner` among others. A label that could not be traced is on
/// no path.
Audit audit_of(PortId src, PortId dst, const PathLearner& learner, const std::vector<PathLabel>& chosen);

std::string audit_table(const Fabric& fabric, const PathTable& table, const Audit& audit);
std::string audit_json(const Fabric& fabric, const PathTable& table, const Audit& audit,
                       const DocumentStamp& stamp);

}  // namespace weft
