// A fabric as a drawing by tier: SVG, and the DOT language of Graphviz.
#pragma once

#include <span>
#include <string>

#include "topology/model/fabric.hpp"

namespace weft::report {

/// A cable that stands out: drawn thick and dashed over the others, with its text.
struct CableMark {
  LinkId link;
  std::string text;
};

/// Cables lie under the nodes; where two nodes share several there is one line with their number. A title of
/// each line names its cables.
std::string fabric_svg(const Fabric& fabric, std::span<const CableMark> marks = {});
/// Rows by tier; one edge a cable, with its ports.
std::string fabric_dot(const Fabric& fabric);

}  // namespace weft::report
