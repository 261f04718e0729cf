// Evidence for the blacklist from what a watcher tells: the events of incidents. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "balancer/blacklist/evidence.hpp"
#include "topology/findings/incident.hpp"

namespace weft::blacklist {

struct EventEvidence {
  std::vector<Evidence> evidence{};  // one an event, in their order
  /// Faults that no entry can say, in words.
  std::vector<std::string> advice{};
};

/// Of the events of a fabric in the order in which they were told, those that were told after `since`. An
/// incident that is open is a fault; one that is closed by clean probes is one clean run over its place, for
/// a fault of its cause and size. Suspicions, which the watcher itself does not believe yet, and what is
/// muted tell nothing.
EventEvidence evidence_of(const Fabric& fabric, std::span<const IncidentEvent> events, UtcTime since);

}  // namespace weft::blacklist
