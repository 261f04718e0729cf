// Events of incidents as JSON, one a line (`weft.event/1`, docs/schema/event.schema.json), and mutes
// (`weft.mutes/1`, docs/schema/mutes.schema.json). A report has names where the value of topology/findings
// has ids, so that a history outlives the fabric file that it was made with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/findings/incident.hpp"
#include "topology/findings/mute.hpp"

namespace weft::files {

/// An Incident by names; its members mean the same.
struct IncidentReport {
  IncidentId id;
  std::vector<std::string> channels;
  std::vector<std::string> nodes;
  std::vector<std::string> links;  // of all these channels, those of alternatives too
  std::vector<std::vector<std::string>> alternatives;
  Cause cause = Cause::loss;
  Verdict verdict = Verdict::unknown;
  IncidentState state = IncidentState::suspected;
  std::optional<Estimate> estimate = std::nullopt;
  double confidence = 0;
  std::vector<std::string> evidence;
  Nanoseconds first_seen{};
  Nanoseconds last_seen{};
  std::optional<Nanoseconds> opened = std::nullopt;
  std::optional<Nanoseconds> closed = std::nullopt;
  std::uint32_t flaps = 0;
  Nanoseconds bad{};
  std::optional<std::string> muted_by = std::nullopt;
};

struct EventReport {
  std::string fabric;
  std::uint64_t number = 0;
  Nanoseconds at{};
  IncidentChange change = IncidentChange::suspected;
  IncidentReport incident;
};

EventReport report_of(const Fabric& fabric, const IncidentEvent& event);
/// Error: not_found, the fabric has no such node or channel (any more): keep the line, it may be of a fabric
/// file before; invalid_input, it is of another fabric.
Result<IncidentEvent> event_of(const Fabric& fabric, const EventReport& report);

/// On one line, without a line end.
std::string event_line(const EventReport& report);
/// An Error (invalid_input) names `what` and the member that is wrong.
Result<EventReport> parse_event(std::string_view line, std::string_view what);

/// Its place in one line: "leaf1->spine2", "leaf1--spine2" (both directions), "spine2 (8 channels)", "a->b or
/// c->d".
std::string place_text(const IncidentReport& incident);

/// What is held against a cable: all incidents of one cause that blamed it alone.
struct OffenceReport {
  std::string link;
  Cause cause = Cause::loss;
  Nanoseconds first_seen{};
  Nanoseconds last_seen{};
  Nanoseconds bad{};        // time in which it was seen, in all
  std::uint64_t times = 0;  // that it came
  std::string evidence;     // of the last one
};

/// Without line ends.
std::string mutes_text(const Fabric& fabric, const Mutes& mutes);

struct ReadMutes {
  Mutes mutes;
  std::vector<std::string> unknown;  // links and nodes that the fabric no longer has: theirs are left out
};
/// An empty text is no mutes.
Result<ReadMutes> parse_mutes(const Fabric& fabric, std::string_view text, std::string_view what);

/// A link or a node as an operator names it.
Result<MuteTarget> find_mute_target(const Fabric& fabric, std::string_view name);

}  // namespace weft::files
