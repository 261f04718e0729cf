// Where the nodes of a fabric stand in a drawing: a row a tier, hosts at the bottom, each row spread evenly.
// A pure function of the fabric; drawings (fabric_drawing.hpp) and pages go by it.
#pragma once

#include <vector>

#include "topology/model/fabric.hpp"

namespace weft::report {

struct NodeBox {
  double x = 0;  // of the middle, in pixels, from the left
  double y = 0;  // from the top
  double width = 0;
  double height = 0;
};

struct FabricLayout {
  double width = 0;
  double height = 0;
  std::vector<NodeBox> nodes;  // indexed by node
};

FabricLayout layout_of(const Fabric& fabric);

}  // namespace weft::report
