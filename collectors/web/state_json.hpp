// What the page shows of a moment, as JSON: a letter a channel, agents, and the incidents with what to do.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "collectors/web/page_source.hpp"
#include "topology/files/json_text.hpp"

namespace weft::web {

/// Incidents beyond these are counted, not listed.
inline constexpr std::size_t kMaxIncidents = 200;

/// As all times of the page are told.
std::int64_t milliseconds(Nanoseconds time);

/// h healthy, c congested, d degraded, f failed, u unknown.
char letter_of(Verdict verdict);

/// A letter a channel, by ChannelId: h healthy, c congested, d degraded, f failed, u unknown (nothing was
/// heard of it lately), n not covered by the plan. What is known to be bad is told also where nothing is
/// heard any more.
std::string channel_letters(const watch::WatchState& state);

/// The same of a moment in the past: what was sent over a channel then, under the incidents of that moment.
/// `sums`: by ChannelId, or empty (then all else is u).
std::string past_letters(const Fabric& fabric, std::span<const ChannelSum> sums,
                         std::span<const Incident> incidents, Nanoseconds at);

/// Whether the incident stood at that moment: it had shown itself and was not over.
bool stood_at(const Incident& incident, Nanoseconds at);

/// What an incident holds to be at fault: the channels of its place, of its nodes, of its alternatives.
std::vector<ChannelId> channels_of(const Fabric& fabric, const IncidentPlace& place);

/// The members of an incident, its names and what to do; times in milliseconds since 1970.
files::DocumentTree incident_tree(const Fabric& fabric, const Incident& incident);

struct StateMarks {
  std::string version;  // what the page hands back to ask whether anything has changed
  std::string layout;   // of the layout that its ids belong to
};
std::string state_json(const Fabric& fabric, const watch::WatchState& state, const StateMarks& marks);

}  // namespace weft::web
