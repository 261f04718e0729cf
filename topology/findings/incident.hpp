// Incident: one trouble of a fabric from its first sign to its end, as a service that probes all the time
// keeps it; and the events of which its history is made. An event carries the whole incident as it is from
// then on, so the last event of each incident is the state of all. Plain values; times are of the wall clock,
// nanoseconds since 1970 (UTC): they are for people and never decide anything.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/findings/diagnosis.hpp"

namespace weft {

using IncidentId = Strong<struct IncidentIdTag, std::uint64_t>;  // counts from 1 within a fabric

/// suspected: likely, not yet sure enough to alert. open: sure. recovering: clean probes crossed what was at
/// fault, not yet enough of them. closed: they did, or it was planned work. dismissed: a suspicion that more
/// probes did not confirm.
enum class IncidentState : std::uint8_t { suspected, open, recovering, closed, dismissed };
constexpr bool is_over(IncidentState state) {
  return state == IncidentState::closed || state == IncidentState::dismissed;
}

/// What is at fault. One of: channels of one link or of a switch (nodes name the switch), a host (a node and
/// no channel), or a set of alternatives of which one is true.
struct IncidentPlace {
  std::vector<ChannelId> channels;                     // ascending
  std::vector<NodeId> nodes;                           // ascending
  std::vector<std::vector<ChannelId>> alternatives{};  // at least two, or none
  friend bool operator==(const IncidentPlace&, const IncidentPlace&) = default;
};

struct Incident {
  IncidentId id;
  IncidentPlace place;
  Cause cause = Cause::loss;
  Verdict verdict = Verdict::unknown;
  IncidentState state = IncidentState::suspected;
  std::optional<Estimate> estimate = std::nullopt;  // unit by cause, as Estimate says
  double confidence = 0;                            // 0..1, with the prior odds of the time looked at
  std::vector<std::string> evidence;
  Nanoseconds first_seen{};                          // of the first window that showed it
  Nanoseconds last_seen{};                           // of the last window that showed it
  std::optional<Nanoseconds> opened = std::nullopt;  // first time
  std::optional<Nanoseconds> closed = std::nullopt;
  std::uint32_t flaps = 0;                             // times that it came back from recovering
  Nanoseconds bad{};                                   // time in which it was seen, in all
  std::optional<std::string> muted_by = std::nullopt;  // the mute's reason: shown, nobody is alerted
};

enum class IncidentChange : std::uint8_t {
  suspected,
  opened,
  changed,  // place, cause, verdict or estimate
  recovering,
  came_back,  // from recovering
  closed,
  dismissed,
};

struct IncidentEvent {
  std::uint64_t number = 0;  // within the incident, from 0
  Nanoseconds at{};
  IncidentChange change = IncidentChange::suspected;
  Incident incident;  // from now on
};

/// The incidents that are open or recovering, as what a sweep would say now: for what reads diagnoses. Its
/// coverage is empty; its verdict is that of what is in it, never healthy (unknown where it is empty).
Diagnosis diagnosis_of(std::span<const Incident> incidents);

std::string_view to_string(IncidentState state);
std::string_view to_string(IncidentChange change);
std::optional<IncidentState> parse_incident_state(std::string_view text);
std::optional<IncidentChange> parse_incident_change(std::string_view text);

}  // namespace weft
