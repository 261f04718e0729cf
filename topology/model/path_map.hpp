// PathMap: for pairs of NICs, every path found and the labels that select it. A value; it owns its PathTable.
#pragma once

#include <vector>

#include "topology/model/path.hpp"

namespace weft {

/// Where a fabric sprays, one label takes several paths: it is then listed under each of them.
struct LabelledPath {
  PathId path;
  std::vector<PathLabel> labels;  // ascending
};

struct PairPaths {
  PortId src;  // NIC
  PortId dst;  // NIC
  std::vector<LabelledPath> paths;
};

struct PathMap {
  PathTable table;
  std::vector<PairPaths> pairs;  // each (src, dst) once
};

}  // namespace weft
