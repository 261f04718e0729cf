// A fabric as a drawing by tier: SVG, and the DOT language of Graphviz.
#pragma once

#include <string>

#include "topology/model/fabric.hpp"

namespace weft::report {

/// Cables lie under the nodes; where two nodes share several there is one line with their number. A title of
/// each line names its cables.
std::string fabric_svg(const Fabric& fabric);
/// Rows by tier; one edge a cable, with its ports.
std::string fabric_dot(const Fabric& fabric);

}  // namespace weft::report
