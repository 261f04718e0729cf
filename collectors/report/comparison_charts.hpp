// Charts of a comparison as SVG, in the classes of the report's style sheet. Functions of values.
#pragma once

#include <string>

#include "collectors/report/comparison_report.hpp"

namespace weft::report {

/// The ratio B/A of each cell with its interval, and the margin as a band; cells may be left out at the end.
std::string forest_chart(const compare::Comparison& comparison, std::size_t most);

/// The ratio of each block of a cell, in the order in which they ran.
std::string blocks_chart(const compare::CellResult& cell, double margin);

/// The shares of the layers of one cell, with their intervals.
std::string layers_chart(const compare::Reasons& reasons);

}  // namespace weft::report
