#include "topology/findings/incident.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "topology/model/fabric.hpp"

namespace weft {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 5> kStates{"suspected", "open", "recovering", "closed", "dismissed"};
constexpr std::array<std::string_view, 7> kChanges{"suspected", "opened", "changed",  "recovering",
                                                   "came_back", "closed", "dismissed"};

template <class Enum, std::size_t N>
std::optional<Enum> parse(const std::array<std::string_view, N>& words, std::string_view text) {
  const auto found = std::ranges::find(words, text);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

/// Of one link: both directions are at fault, or one.
LinkFinding link_finding(const Incident& incident) {
  const auto& channels = incident.place.channels;
  return {.link = Fabric::link_of(channels.front()),
          .channel = channels.size() == 1 ? std::optional(channels.front()) : std::nullopt,
          .verdict = incident.verdict,
          .cause = incident.cause,
          .estimate = incident.estimate,
          .confidence = incident.confidence,
          .evidence = incident.evidence};
}

void add(Diagnosis& diagnosis, const Incident& incident) {
  const IncidentPlace& place = incident.place;
  if (!place.alternatives.empty()) {
    diagnosis.sets.push_back({incident.cause, incident.verdict, place.alternatives, incident.confidence});
  } else if (place.channels.empty()) {
    for (const NodeId host : place.nodes)
      diagnosis.hosts.push_back({.host = host,
                                 .verdict = incident.verdict,
                                 .cause = incident.cause,
                                 .evidence = incident.evidence,
                                 .estimate = incident.estimate,
                                 .confidence = incident.confidence});
  } else if (place.nodes.empty() &&
             Fabric::link_of(place.channels.front()) == Fabric::link_of(place.channels.back())) {
    diagnosis.links.push_back(link_finding(incident));
  } else {
    diagnosis.groups.push_back({place.nodes, place.channels, incident.cause, incident.verdict,
                                incident.confidence, incident.evidence});
  }
}

}  // namespace

Diagnosis diagnosis_of(std::span<const Incident> incidents) {
  Diagnosis diagnosis;
  for (const Incident& incident : incidents) {
    if (incident.state != IncidentState::open && incident.state != IncidentState::recovering) continue;
    add(diagnosis, incident);
  }
  diagnosis.verdict = run_verdict(diagnosis);
  return diagnosis;
}

std::string_view to_string(IncidentState state) { return kStates.at(static_cast<std::size_t>(state)); }
std::string_view to_string(IncidentChange change) { return kChanges.at(static_cast<std::size_t>(change)); }
std::optional<IncidentState> parse_incident_state(std::string_view text) {
  return parse<IncidentState>(kStates, text);
}
std::optional<IncidentChange> parse_incident_change(std::string_view text) {
  return parse<IncidentChange>(kChanges, text);
}

}  // namespace weft
