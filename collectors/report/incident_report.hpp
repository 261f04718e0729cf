// Incidents for people: what changed, as a watcher prints it when it happens.
#pragma once

#include <string>

#include "topology/findings/incident.hpp"
#include "topology/model/fabric.hpp"

namespace weft::report {

/// The place of an incident as a list of findings has it: "leaf1--spine2 (from leaf1)", "hosts host1".
std::string place_text(const Fabric& fabric, const Incident& incident);

/// One event as lines that end with a line's end, at most `columns` wide:
///   2026-01-31T12:00:00Z incident 3 opened: leaf1--spine2 (from leaf1): loss 1.2% (0.9 to 1.6), degraded
///       from leaf1 port 3 to spine2 port 1
///       38 of 4,096 probes over it were lost
///       do: ...
/// What is below the first line stands only where an incident opens, changes or comes back.
std::string event_lines(const Fabric& fabric, const IncidentEvent& event, std::size_t columns);

}  // namespace weft::report
