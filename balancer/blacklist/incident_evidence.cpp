#include "balancer/blacklist/incident_evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace weft::blacklist {
namespace {

UtcTime utc(Nanoseconds since_1970) { return UtcTime(std::chrono::floor<std::chrono::seconds>(since_1970)); }

std::optional<double> size_of(const Incident& incident) {
  if (!incident.estimate) return std::nullopt;
  const bool is_share_left = incident.cause == Cause::rate || incident.cause == Cause::congestion;
  return is_share_left ? incident.estimate->high : incident.estimate->low;
}

/// The watcher closes an incident once as many clean probes crossed its place as would have shown that very
/// fault.
void make_clean(const Fabric& fabric, const Subject& subject, Evidence& evidence) {
  evidence.clean.assign(fabric.channel_count(), false);
  for (const ChannelId channel : channels_of(fabric, subject)) evidence.clean[channel.value()] = true;
  evidence.loaded = evidence.clean;
  evidence.shows_loss = evidence.shows_delay = evidence.shows_rate = 0;
  evidence.shows_size = std::numeric_limits<double>::infinity();
}

std::string words(const Fabric& fabric, const Incident& incident) {
  std::string text;
  for (const NodeId node : incident.place.nodes) text += (text.empty() ? "" : ", ") + fabric.name_of(node);
  return fmt::format("incident {}: {}{}", incident.id.value(), text.empty() ? "" : text + ": ",
                     to_string(incident.cause));
}

}  // namespace

EventEvidence evidence_of(const Fabric& fabric, std::span<const IncidentEvent> events, UtcTime since) {
  EventEvidence out;
  std::map<IncidentId, Nanoseconds> recovered;  // since then other packets cross it than those that showed it
  std::map<IncidentId, bool> recovers;          // as it was last told
  for (const IncidentEvent& event : events) {
    const Incident& incident = event.incident;
    const bool was_recovering =
        std::exchange(recovers[incident.id], incident.state == IncidentState::recovering);
    if (event.change == IncidentChange::recovering) recovered[incident.id] = event.at;
    const bool is_open = incident.state == IncidentState::open;
    // One that closed without recovering became part of another, or its part is gone: no clean packets.
    const bool is_clean = event.change == IncidentChange::closed && was_recovering;
    if ((!is_open && !is_clean) || incident.muted_by || utc(event.at) <= since) continue;
    const auto subject = covering(fabric, incident.place);
    if (!subject) {
      if (event.change == IncidentChange::opened) out.advice.push_back(words(fabric, incident));
      continue;
    }
    const auto again = recovered.find(incident.id);
    const auto from = is_clean                   ? incident.last_seen
                      : again != recovered.end() ? again->second
                                                 : incident.first_seen;
    Evidence evidence{.run = fmt::format("incident {}", incident.id.value()),
                      .from = utc(std::min(from, event.at)),
                      .until = utc(event.at),
                      .of_incident = incident.cause};
    if (is_clean)
      make_clean(fabric, *subject, evidence);
    else
      evidence.faults.push_back({*subject, incident.cause, incident.verdict, incident.confidence,
                                 incident.evidence, size_of(incident)});
    out.evidence.push_back(std::move(evidence));
  }
  return out;
}

}  // namespace weft::blacklist
