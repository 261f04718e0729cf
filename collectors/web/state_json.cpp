#include "collectors/web/state_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "collectors/report/findings.hpp"
#include "topology/files/diagnosis_document.hpp"

namespace weft::web {
namespace {

using files::DocumentTree;

constexpr std::size_t kMaxNames = 100;  // of agents that are silent

/// As a diagnosis of this incident alone has it.
report::Entry entry_of(const Fabric& fabric, Incident incident) {
  incident.state = IncidentState::open;
  const auto entries =
      report::entries_of(files::diagnosis_document(fabric, diagnosis_of({&incident, 1}), {}, {}));
  return entries.empty() ? report::Entry{} : entries.front();
}

template <class Ids>
DocumentTree numbers(const Ids& ids) {
  auto list = DocumentTree::array();
  for (const auto id : ids) list.push_back(id.value());
  return list;
}

DocumentTree agents_tree(const Fabric& fabric, const watch::WatchState& state) {
  using watch::AgentPresence;
  auto hosts = DocumentTree::array();  // that are silent
  std::array<std::size_t, 4> count{};
  Nanoseconds lag{};
  std::uint64_t gaps = 0;
  std::uint64_t refused = 0;
  for (const watch::AgentState& agent : state.agents) {
    ++count[static_cast<std::size_t>(agent.presence)];
    gaps += agent.gaps;
    refused += agent.refused;
    if (agent.presence == AgentPresence::present) lag = std::max(lag, agent.lag);
    if (agent.presence == AgentPresence::silent && hosts.size() < kMaxNames &&
        agent.host.value() < fabric.node_count())
      hosts.push_back(fabric.name_of(agent.host));
  }
  const auto of = [&](AgentPresence presence) { return count[static_cast<std::size_t>(presence)]; };
  return {{"present", of(AgentPresence::present)},
          {"silent", of(AgentPresence::silent)},
          {"gone_planned", of(AgentPresence::gone_planned)},
          {"never_seen", of(AgentPresence::never_seen)},
          {"silent_hosts", std::move(hosts)},
          {"lag_ms", milliseconds(lag)},
          {"gaps", gaps},
          {"refused", refused}};
}

}  // namespace

char letter_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::healthy:
      return 'h';
    case Verdict::unknown:
      return 'u';
    case Verdict::congested:
      return 'c';
    case Verdict::degraded:
      return 'd';
    case Verdict::failed:
      return 'f';
  }
  return 'u';
}

std::int64_t milliseconds(Nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

std::string channel_letters(const watch::WatchState& state) {
  std::string letters;
  letters.reserve(state.channels.size());
  for (const watch::ChannelState& channel : state.channels) {
    if (channel.verdict > Verdict::unknown)
      letters += letter_of(channel.verdict);
    else if (!channel.covered)
      letters += 'n';
    else
      letters += channel.fresh ? letter_of(channel.verdict) : 'u';
  }
  return letters;
}

bool stood_at(const Incident& incident, Nanoseconds at) {
  const auto end = incident.state == IncidentState::closed || incident.state == IncidentState::dismissed
                       ? incident.closed.value_or(incident.last_seen)
                       : Nanoseconds::max();
  return incident.first_seen <= at && at < end;
}

std::vector<ChannelId> channels_of(const Fabric& fabric, const IncidentPlace& place) {
  std::vector<ChannelId> channels = place.channels;
  if (channels.empty())
    for (const NodeId node : place.nodes)
      if (node.value() < fabric.node_count())
        std::ranges::copy(fabric.channels_at(node), std::back_inserter(channels));
  for (const auto& alternative : place.alternatives)
    channels.insert(channels.end(), alternative.begin(), alternative.end());
  std::erase_if(channels, [&](ChannelId channel) { return channel.value() >= fabric.channel_count(); });
  std::ranges::sort(channels);
  channels.erase(std::ranges::unique(channels).begin(), channels.end());
  return channels;
}

std::string past_letters(const Fabric& fabric, std::span<const ChannelSum> sums,
                         std::span<const Incident> incidents, Nanoseconds at) {
  std::string letters(fabric.channel_count(), 'u');
  for (std::size_t c = 0; c < std::min(sums.size(), letters.size()); ++c)
    if (sums[c].sent > 0) letters[c] = 'h';
  std::vector<Verdict> worst(letters.size(), Verdict::healthy);
  for (const Incident& incident : incidents) {
    if (!stood_at(incident, at) || !incident.opened || !incident.place.alternatives.empty()) continue;
    for (const ChannelId channel : channels_of(fabric, incident.place)) {
      Verdict& known = worst[channel.value()];
      known = std::max(known, incident.verdict);
      letters[channel.value()] = letter_of(known);
    }
  }
  return letters;
}

DocumentTree incident_tree(const Fabric& fabric, const Incident& incident) {
  const auto entry = entry_of(fabric, incident);
  DocumentTree tree{{"id", incident.id.value()},
                    {"state", to_string(incident.state)},
                    {"place", entry.what},
                    {"ports", entry.ports},
                    {"cause", to_string(incident.cause)},
                    {"verdict", to_string(incident.verdict)},
                    {"estimate", entry.estimate},
                    {"confidence", incident.confidence},
                    {"evidence", incident.evidence},
                    {"more", entry.lines},
                    {"do", report::what_to_do(entry.trouble)},
                    {"channels", numbers(channels_of(fabric, incident.place))},
                    {"nodes", numbers(incident.place.nodes)},
                    {"alternatives", !incident.place.alternatives.empty()},
                    {"first_seen", milliseconds(incident.first_seen)},
                    {"last_seen", milliseconds(incident.last_seen)},
                    {"flaps", incident.flaps},
                    {"bad_ms", milliseconds(incident.bad)}};
  if (incident.opened) tree["opened"] = milliseconds(*incident.opened);
  if (incident.closed) tree["closed"] = milliseconds(*incident.closed);
  if (incident.muted_by) tree["muted_by"] = *incident.muted_by;
  return tree;
}

std::string state_json(const Fabric& fabric, const watch::WatchState& state, const StateMarks& marks) {
  auto incidents = DocumentTree::array();
  for (const Incident& incident : state.incidents) {
    if (incidents.size() == kMaxIncidents) break;
    incidents.push_back(incident_tree(fabric, incident));
  }
  return files::document_line({{"version", marks.version},
                               {"layout", marks.layout},
                               {"fabric", state.fabric},
                               {"at", milliseconds(state.at)},
                               {"verdict", to_string(state.verdict)},
                               {"active", state.active},
                               {"plan", state.plan.value()},
                               {"windows", state.windows},
                               {"look_ms", milliseconds(state.last_look)},
                               {"uncovered", state.uncovered.size()},
                               {"routes_moved", state.routes_moved},
                               {"paths_known", state.paths_known},
                               {"agents", agents_tree(fabric, state)},
                               {"incidents", incidents},
                               {"incident_count", state.incidents.size()},
                               {"channels", channel_letters(state)}});
}

}  // namespace weft::web
