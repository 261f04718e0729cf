// What a run's load moved, as lines for people: how long messages took, what each receiver got, who was slow.
#pragma once

#include <string>

#include "topology/files/flows_report.hpp"

namespace weft {

/// At most `columns` wide, but for the table of receivers.
std::string flow_table(const FlowsReport& report, std::size_t columns);

}  // namespace weft
