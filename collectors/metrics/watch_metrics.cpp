#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "collectors/metrics/families.hpp"
#include "collectors/metrics/metrics.hpp"
#include "topology/files/incident_json.hpp"
#include "topology/model/fabric.hpp"

namespace weft::metrics {
namespace {

using watch::AgentPresence;
using watch::WatchState;

constexpr std::array kVerdicts{Verdict::healthy, Verdict::unknown, Verdict::congested, Verdict::degraded,
                               Verdict::failed};

double seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }
double number(std::uint64_t count) { return static_cast<double>(count); }

/// Of the channels of a tier, a rail or a leaf.
struct GroupSums {
  std::uint64_t sent = 0;  // since the watcher's start
  std::uint64_t lost = 0;
  std::array<std::uint64_t, 5> channels{};  // by Verdict
  std::uint64_t unhealthy() const { return channels[2] + channels[3] + channels[4]; }
};

struct ChannelGroups {
  std::map<std::pair<std::string, std::string>, GroupSums> by_tier;  // "leaf-spine", "up"
  std::map<std::pair<std::string, std::string>, GroupSums> by_rail;  // of hosts' cables: "3", "up"
  std::map<std::string, GroupSums> by_leaf;                          // of all cables of that leaf
};

void add(GroupSums& sums, const watch::ChannelState& channel) {
  sums.sent += channel.sent_in_all;
  sums.lost += channel.lost_in_all;
  const auto verdict = channel.fresh ? channel.verdict : Verdict::unknown;
  ++sums.channels.at(static_cast<std::size_t>(verdict));
}

ChannelGroups grouped(const Fabric& fabric, const std::vector<watch::ChannelState>& channels) {
  ChannelGroups groups;
  // By tiers and rails first by small keys: names would be made for each of 147,456 channels.
  std::map<std::tuple<Tier, Tier, bool>, GroupSums> tiers;
  std::map<std::pair<std::size_t, bool>, GroupSums> rails;
  std::vector<GroupSums> leaves(fabric.node_count());
  for (std::uint32_t c = 0; c < channels.size(); ++c) {
    const ChannelId id(c);
    const auto from = fabric.source_node(id), to = fabric.target_node(id);
    const Tier low = std::min(fabric.node(from).tier, fabric.node(to).tier);
    const Tier high = std::max(fabric.node(from).tier, fabric.node(to).tier);
    const bool up = fabric.node(from).tier == low;
    add(tiers[{low, high, up}], channels[c]);
    for (const NodeId end : {from, to})
      if (fabric.node(end).tier == Tier::leaf) add(leaves[end.value()], channels[c]);
    if (low != Tier::host) continue;
    const PortId nic = up ? fabric.source(id) : fabric.target(id);
    const auto ports = fabric.ports_of(fabric.port(nic).node);
    add(rails[{static_cast<std::size_t>(std::ranges::find(ports, nic) - ports.begin()), up}], channels[c]);
  }
  const auto direction = [](bool up) { return up ? "up" : "down"; };
  for (const auto& [key, sums] : tiers)
    groups.by_tier[{fmt::format("{}-{}", to_string(std::get<0>(key)), to_string(std::get<1>(key))),
                    direction(std::get<2>(key))}] = sums;
  for (const auto& [key, sums] : rails)
    groups.by_rail[{std::to_string(key.first + 1), direction(key.second)}] = sums;
  for (std::uint32_t n = 0; n < leaves.size(); ++n)
    if (fabric.node(NodeId(n)).tier == Tier::leaf) groups.by_leaf[fabric.node(NodeId(n)).name] = leaves[n];
  return groups;
}

void put_active(Families& all, bool active) {
  all.gauge("weft_watch_active", "1: this watcher holds the lease and writes; 0: it stands by.")
      .add(active ? 1 : 0);
}

void put_watcher(Families& all, const WatchState& state) {
  auto verdicts =
      all.gauge("weft_fabric_verdict", "Verdict of the fabric as a whole: 1 for the one that holds.");
  for (const Verdict verdict : kVerdicts)
    verdicts.add(verdict == state.verdict ? 1 : 0, {{"verdict", std::string(to_string(verdict))}});
  put_active(all, state.active);
  all.gauge("weft_watch_state_timestamp_seconds", "When this was so, by the watcher's wall clock.")
      .add(seconds(state.at));
  all.gauge("weft_watch_plan_version", "Version of the plan that agents work.").add(state.plan.value());
  all.gauge("weft_watch_look_duration_seconds", "How long the last diagnosis took.")
      .add(seconds(state.last_look));
  all.counter("weft_watch_windows_total", "Windows of agents that were summed.").add(number(state.windows));
  all.counter("weft_watch_path_windows_total", "Rows of these windows, one a path.")
      .add(number(state.path_windows));
  all.gauge("weft_watch_uncovered_channels", "Channels that the plan cannot cover.")
      .add(number(state.uncovered.size()));
  all.gauge("weft_watch_routes_moved", "1: routes are not those of the plan; paths are to be mapped again.")
      .add(state.routes_moved ? 1 : 0);
}

std::string_view word_for(AgentPresence presence) {
  switch (presence) {
    case AgentPresence::never_seen:
      return "never_seen";
    case AgentPresence::present:
      return "present";
    case AgentPresence::silent:
      return "silent";
    case AgentPresence::gone_planned:
      return "gone_planned";
  }
  return "";
}

void put_agents(Families& all, const Fabric& fabric, const WatchState& state) {
  std::array<std::uint64_t, 4> presences{};
  Nanoseconds lag{};
  watch::AgentState sum;
  for (const auto& agent : state.agents) {
    ++presences.at(static_cast<std::size_t>(agent.presence));
    if (agent.presence == AgentPresence::present) lag = std::max(lag, agent.lag);
    sum.gaps += agent.gaps, sum.refused += agent.refused, sum.stalled += agent.stalled;
    if (agent.presence == AgentPresence::present) sum.spooled += agent.spooled, sum.dropped += agent.dropped;
  }
  auto agents = all.gauge("weft_agents", "Agents, by whether they are there.");
  for (std::size_t i = 0; i < presences.size(); ++i)
    agents.add(number(presences.at(i)), {{"presence", std::string(word_for(static_cast<AgentPresence>(i)))}});
  all.gauge("weft_agents_lag_max_seconds",
            "Longest time from the end of a window's sending to its being summed.")
      .add(seconds(lag));
  all.counter("weft_agents_gap_windows_total",
              "Windows that never came: what they would have told is not known.")
      .add(number(sum.gaps));
  all.counter("weft_agents_refused_windows_total", "Windows that could not be believed.")
      .add(number(sum.refused));
  all.counter("weft_agents_stalled_windows_total",
              "Windows in which the host held the agent up, or a NIC dropped frames unread.")
      .add(number(sum.stalled));
  all.gauge("weft_agents_spooled_windows", "Windows that wait at agents for the bus, as they said last.")
      .add(number(sum.spooled));
  all.gauge("weft_agents_dropped_windows", "Windows that agents had no room for, since each began.")
      .add(number(sum.dropped));
  auto silent = all.gauge("weft_agent_silent", "Agents that were there and fell silent.");
  for (const auto& agent : state.agents)
    if (agent.presence == AgentPresence::silent) silent.add(1, {{"host", fabric.name_of(agent.host)}});
}

/// Two counters of each group: what crossed its channels, and what was lost.
template <class Groups, class LabelsOf>
void put_counts(Families& all, const std::string& what, const Groups& groups, LabelsOf labels_of) {
  auto sent = all.counter("weft_" + what + "_probes_total", "Probes and echoes that crossed its channels.");
  for (const auto& [key, sums] : groups) sent.add(number(sums.sent), labels_of(key));
  auto lost = all.counter("weft_" + what + "_probes_lost_total",
                          "Of these, those that were lost on any channel of their path.");
  for (const auto& [key, sums] : groups) lost.add(number(sums.lost), labels_of(key));
}

void put_groups(Families& all, const ChannelGroups& groups) {
  const auto tier = [](const auto& key) { return Labels{{"tier", key.first}, {"direction", key.second}}; };
  const auto rail = [](const auto& key) { return Labels{{"rail", key.first}, {"direction", key.second}}; };
  const auto leaf = [](const std::string& name) { return Labels{{"leaf", name}}; };
  put_counts(all, "tier", groups.by_tier, tier);
  put_counts(all, "rail", groups.by_rail, rail);
  put_counts(all, "leaf", groups.by_leaf, leaf);
  auto verdicts = all.gauge("weft_tier_channels", "Channels by their verdict of the last minute.");
  for (const auto& [key, sums] : groups.by_tier)
    for (const Verdict verdict : kVerdicts) {
      Labels labels = tier(key);
      labels.emplace_back("verdict", to_string(verdict));
      verdicts.add(number(sums.channels.at(static_cast<std::size_t>(verdict))), labels);
    }
  auto rails = all.gauge("weft_rail_unhealthy_channels", "Channels that are congested, degraded or failed.");
  for (const auto& [key, sums] : groups.by_rail) rails.add(number(sums.unhealthy()), rail(key));
  auto leaves = all.gauge("weft_leaf_unhealthy_channels", "Channels that are congested, degraded or failed.");
  for (const auto& [key, sums] : groups.by_leaf) leaves.add(number(sums.unhealthy()), leaf(key));
}

/// Those with lines of their own, the worst first.
std::vector<ChannelId> chosen_channels(const WatchState& state, const MetricsOptions& options) {
  std::vector<ChannelId> chosen;
  for (std::uint32_t c = 0; c < state.channels.size(); ++c) {
    const auto& channel = state.channels[c];
    if (options.all_channels || (channel.fresh && channel.verdict > Verdict::unknown))
      chosen.push_back(ChannelId(c));
  }
  if (!options.all_channels)
    std::ranges::stable_sort(chosen, std::ranges::greater(),
                             [&](ChannelId id) { return state.channels[id.value()].verdict; });
  return chosen;
}

void put_channels(Families& all, const Fabric& fabric, const WatchState& state,
                  const MetricsOptions& options) {
  auto chosen = chosen_channels(state, options);
  const std::size_t left_out =
      options.all_channels || chosen.size() <= kMaxChannels ? 0 : chosen.size() - kMaxChannels;
  chosen.resize(chosen.size() - left_out);
  all.gauge("weft_channels_left_out",
            "Channels that are not healthy and have no lines here: they are too many.")
      .add(number(left_out));
  auto verdicts = all.gauge(
      "weft_channel_verdict",
      "Of a channel that is not healthy: 2 congested, 3 degraded, 4 failed (0 healthy, 1 unknown).");
  for (const ChannelId id : chosen) {
    const auto& channel = state.channels[id.value()];
    verdicts.add(static_cast<double>(channel.fresh ? channel.verdict : Verdict::unknown),
                 {{"channel", fabric.name_of(id)}});
  }
  auto sent = all.counter("weft_channel_probes_total", "Probes and echoes that crossed it.");
  for (const ChannelId id : chosen)
    sent.add(number(state.channels[id.value()].sent_in_all), {{"channel", fabric.name_of(id)}});
  auto lost = all.counter("weft_channel_probes_lost_total",
                          "Of these, those that were lost on any channel of their path.");
  for (const ChannelId id : chosen)
    lost.add(number(state.channels[id.value()].lost_in_all), {{"channel", fabric.name_of(id)}});
}

bool alerts(const Incident& incident) {
  return incident.state == IncidentState::open || incident.state == IncidentState::recovering;
}

void put_incidents(Families& all, const Fabric& fabric, const WatchState& state) {
  std::map<std::pair<std::string_view, bool>, std::uint64_t> counts;
  for (const auto word : {IncidentState::suspected, IncidentState::open, IncidentState::recovering})
    for (const bool muted : {false, true}) counts[{to_string(word), muted}] = 0;
  for (const Incident& incident : state.incidents)
    ++counts[{to_string(incident.state), incident.muted_by.has_value()}];
  const auto yes_or_no = [](bool is) { return is ? "yes" : "no"; };
  auto numbers = all.gauge("weft_incidents", "Incidents that are not over.");
  for (const auto& [key, count] : counts)
    numbers.add(number(count), {{"state", std::string(key.first)}, {"muted", yes_or_no(key.second)}});
  std::size_t shown = 0;
  auto each = all.gauge("weft_incident_opened_timestamp_seconds",
                        "Of each incident that is open or recovering: when it opened.");
  for (const Incident& incident : state.incidents) {
    if (!alerts(incident) || ++shown > kMaxIncidents) continue;
    const auto report = files::report_of(fabric, {.number = 0, .at = {}, .incident = incident}).incident;
    each.add(seconds(incident.opened.value_or(incident.first_seen)),
             {{"incident", std::to_string(incident.id.value())},
              {"place", place_text(report)},
              {"cause", std::string(to_string(incident.cause))},
              {"verdict", std::string(to_string(incident.verdict))},
              {"muted", yes_or_no(incident.muted_by.has_value())}});
  }
}

}  // namespace

std::string metrics_text(const Fabric& fabric, const WatchState& state, const MetricsOptions& options) {
  Families all(state.fabric);
  put_watcher(all, state);
  put_agents(all, fabric, state);
  put_incidents(all, fabric, state);
  put_groups(all, grouped(fabric, state.channels));
  put_channels(all, fabric, state, options);
  return std::move(all).text();
}

std::string standby_metrics_text(const Fabric& fabric) {
  Families all(fabric.name());
  put_active(all, false);
  return std::move(all).text();
}

std::string metrics_text(const Fabric& fabric, const WebhookFigures& webhook) {
  Families all(fabric.name());
  all.counter("weft_webhook_sent_events_total", "Events that the receiver took.").add(number(webhook.sent));
  all.gauge("weft_webhook_waiting_events", "Events that are still to be posted.")
      .add(number(webhook.waiting));
  all.counter("weft_webhook_dropped_events_total", "Events given up: too many waited, or all tries failed.")
      .add(number(webhook.dropped));
  all.counter("weft_webhook_refused_events_total", "Events that the receiver refused (status 3xx, 4xx).")
      .add(number(webhook.refused));
  return std::move(all).text();
}

}  // namespace weft::metrics
