// What a Watcher knows at one moment, as values (watch_state.hpp).
#include <algorithm>

#include "probes/watch/watcher.hpp"
#include "topology/model/fabric.hpp"

namespace weft::watch {
namespace {

constexpr Nanoseconds kUnexplainedFor = std::chrono::minutes(10);
constexpr std::uint32_t kFresh = 5;  // probes of the last seconds by which something is known of a channel

/// A row that went elsewhere says nothing of the way there that the plan has.
void doubt_channels(const StandingPlan& plan, std::uint32_t row, std::vector<ChannelState>& channels) {
  for (const PathId path : plan.paths.paths(plan.stream(row).there))
    for (const ChannelId channel : plan.paths.channels(path))
      if (auto& state = channels[channel.value()]; state.verdict == Verdict::healthy)
        state.verdict = Verdict::unknown;
}

}  // namespace

/// Losses of the last minutes that no finding explains; those of hours ago are no news of now.
bool Watcher::is_unexplained() const {
  if (was_held_) return true;
  if (!era_) return false;
  for (std::size_t i = 0; i < scales().size(); ++i)
    if (era_->unexplained[i] && scales()[i].span <= kUnexplainedFor) return true;
  return false;
}

Verdict Watcher::verdict_of(const WatchState& state) const {
  Verdict worst = Verdict::healthy;
  for (const Incident& incident : state.incidents)
    worst = std::max(worst, incident.state == IncidentState::suspected ? Verdict::unknown : incident.verdict);
  const auto is_known = [](const ChannelState& channel) { return channel.covered && channel.fresh; };
  const bool known = !state.channels.empty() && std::ranges::all_of(state.channels, is_known);
  if (!known || is_unexplained() || is_restless_ || routes_.since() || !are_paths_known_)
    worst = std::max(worst, Verdict::unknown);
  return worst;
}

WatchState Watcher::state(Nanoseconds wall, bool active, Nanoseconds look_took) const {
  WatchState state{.fabric = fabric_->name(),
                   .version = version_,
                   .at = wall,
                   .active = active,
                   .windows = windows_,
                   .path_windows = path_windows_,
                   .last_look = look_took};
  for (const NodeId host : fabric_->hosts()) state.agents.push_back(agents_[host.value()].told);
  std::ranges::sort(state.agents, {}, &AgentState::host);
  state.incidents = book_.current();
  state.channels.resize(fabric_->channel_count());
  for (std::uint32_t c = 0; c < state.channels.size(); ++c) {
    ChannelState& channel = state.channels[c];
    channel.sent = channels_.minute()[c].sent, channel.lost = channels_.minute()[c].lost;
    channel.sent_in_all = channels_.in_all()[c].sent, channel.lost_in_all = channels_.in_all()[c].lost;
    channel.covered = era_ && era_->plan.crossings[c] > 0;
    channel.fresh = channels_.recent()[c].passed() >= kFresh && !channels_.minute()[c].is_hidden();
    channel.verdict = channel.covered && channel.fresh ? Verdict::healthy : Verdict::unknown;
  }
  for (const Incident& incident : state.incidents) {
    const auto verdict = incident.state == IncidentState::suspected ? Verdict::unknown : incident.verdict;
    const auto mark = [&](ChannelId channel) {
      state.channels[channel.value()].verdict = std::max(state.channels[channel.value()].verdict, verdict);
    };
    std::ranges::for_each(incident.place.channels, mark);
    for (const auto& alternative : incident.place.alternatives)
      for (const ChannelId channel : alternative)
        state.channels[channel.value()].verdict =
            std::max(state.channels[channel.value()].verdict, Verdict::unknown);
    if (incident.place.channels.empty())
      for (const NodeId node : incident.place.nodes) std::ranges::for_each(fabric_->channels_at(node), mark);
  }
  if (era_) {
    state.plan = era_->version, state.uncovered = era_->plan.uncovered;
    for (const std::uint32_t row : era_->routes.moved()) doubt_channels(era_->plan, row, state.channels);
  }
  state.routes_moved = routes_.since().has_value();
  state.paths_known = are_paths_known_;
  state.verdict = verdict_of(state);
  return state;
}

std::vector<StreamOver> Watcher::streams_over(LinkId link, Nanoseconds now, std::size_t most) const {
  if (!era_) return {};
  return watch::streams_over(era_->plan, era_->sums.sum(now, std::chrono::minutes(1)), link, most);
}

}  // namespace weft::watch
