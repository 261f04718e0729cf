#include "collectors/counters/pause_origin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "topology/base/instant.hpp"
#include "topology/base/text.hpp"
#include "topology/findings/evidence_words.hpp"

namespace weft::counters {
namespace {

/// A port that stood far less than the one behind it does not explain it: pauses grow against the traffic.
constexpr double kMinShare = 0.02;
constexpr std::size_t kMaxNamed = 8;       // ports of a ring
constexpr std::size_t kMaxStopped = 4096;  // those with most pause frames: time and memory grow by its square

/// A direction of a cable that stood: its sender was told to wait by its receiver.
struct Stopped {
  PortId sender, receiver;
  double frames = 0;
  std::vector<std::size_t> because;  // stopped directions out of the node that it enters
};

std::vector<Stopped> all_stopped(const Fabric& fabric, std::span<const PortPause> pauses) {
  std::map<PortId, PortPause> told;
  for (const PortPause& one : pauses) told.emplace(one.port, one);
  std::vector<Stopped> all;
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) {
    const PortId sender = fabric.source(ChannelId(c)), receiver = fabric.target(ChannelId(c));
    const auto from = told.find(sender), to = told.find(receiver);
    if (from == told.end() && to == told.end()) continue;
    const double frames = from == told.end() ? to->second.sent
                          : to == told.end() ? from->second.received
                                             : std::min(from->second.received, to->second.sent);
    if (frames >= kMinPause) all.push_back({sender, receiver, frames, {}});
  }
  std::ranges::stable_sort(all, std::greater(), &Stopped::frames);
  if (all.size() > kMaxStopped) all.resize(kMaxStopped);
  std::map<NodeId, std::vector<std::size_t>> leaving;
  for (std::size_t i = 0; i < all.size(); ++i) leaving[fabric.port(all[i].sender).node].push_back(i);
  for (Stopped& one : all)
    for (const std::size_t next : leaving[fabric.port(one.receiver).node])
      // What came by a cable does not leave by it.
      if (all[next].sender != one.receiver && all[next].frames >= kMinShare * one.frames)
        one.because.push_back(next);
  return all;
}

/// By direction, all that it leads to: itself only where that leads back.
std::vector<std::vector<bool>> all_reached(const std::vector<Stopped>& all) {
  std::vector<std::vector<bool>> reached(all.size(), std::vector<bool>(all.size()));
  for (std::size_t from = 0; from < all.size(); ++from) {
    std::vector<std::size_t> open = all[from].because;
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      if (reached[from][at]) continue;
      reached[from][at] = true;
      open.insert(open.end(), all[at].because.begin(), all[at].because.end());
    }
  }
  return reached;
}

std::string who_began(const Fabric& fabric, const PauseOrigin& one) {
  const PortId first = one.ports.front();
  switch (one.cause) {
    case PauseCause::slow_host:
      return fmt::format("{} does not take what comes: its host is slow, not the fabric",
                         fabric.name_of(fabric.port(first).node));
    case PauseCause::slow_switch:
      return fmt::format("{} pauses its peer, and no other port of the switch was stopped",
                         fabric.name_of(first));
    case PauseCause::ring:
      break;
  }
  std::string who = "switches stop each other in a ring:";
  for (std::size_t i = 0; i < std::min(one.ports.size(), kMaxNamed); ++i)
    who += " " + fabric.name_of(one.ports[i]);
  return one.ports.size() > kMaxNamed ? fmt::format("{} and {} more", who, one.ports.size() - kMaxNamed)
                                      : who;
}

bool is_pause(PortCounter counter) {
  return counter == PortCounter::pause_in || counter == PortCounter::pause_out;
}

}  // namespace

std::string_view to_string(PauseCause cause) {
  switch (cause) {
    case PauseCause::slow_host:
      return "slow_host";
    case PauseCause::slow_switch:
      return "slow_switch";
    case PauseCause::ring:
      return "ring";
  }
  return "";
}

std::vector<PauseOrigin> pause_origins(const Fabric& fabric, std::span<const PortPause> pauses) {
  const std::vector<Stopped> all = all_stopped(fabric, pauses);
  std::map<std::vector<std::size_t>, PauseOrigin> found;  // by those that began
  const auto origin = [&](const std::vector<std::size_t>& began) -> PauseOrigin& {
    const auto [at, is_new] = found.try_emplace(began);
    if (!is_new) return at->second;
    const bool is_host = fabric.is_host(fabric.port(all[began[0]].receiver).node);
    at->second.cause = began.size() > 1 ? PauseCause::ring
                       : is_host        ? PauseCause::slow_host
                                        : PauseCause::slow_switch;
    for (const std::size_t one : began) {
      at->second.ports.push_back(all[one].receiver);
      at->second.sent += all[one].frames;
    }
    return at->second;
  };
  const auto reached = all_reached(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<std::size_t> ends, ring;
    if (all[i].because.empty()) ends.push_back(i);
    for (std::size_t one = 0; one < all.size(); ++one) {
      if (!reached[i][one]) continue;
      if (all[one].because.empty()) ends.push_back(one);
      if (reached[one][one]) ring.push_back(one);
    }
    for (const std::size_t end : ends) origin({end}).stopped.push_back(all[i].sender);
    if (ends.empty()) origin(ring).stopped.push_back(all[i].sender);
  }
  std::vector<PauseOrigin> origins;
  for (auto& [began, one] : found) origins.push_back(std::move(one));
  std::ranges::stable_sort(origins, std::greater(), &PauseOrigin::sent);
  return origins;
}

PortPauses port_pauses(const Fabric& fabric, CounterTable& table, Nanoseconds together, Nanoseconds since) {
  PortPauses found;
  // The clock of a source may be wrong: an hour back from its own newest reading.
  std::map<std::uint32_t, Nanoseconds> newest;
  for (const CounterSeries& one : table.series())
    if (is_pause(one.key.counter))
      for (const CounterPoint& point : one.points)
        newest[one.source] = std::max(newest[one.source], point.at);
  std::erase_if(newest, [since](const auto& one) { return one.second < since; });
  for (const auto& [source, at] : newest) found.to = std::max(found.to, at);
  found.from = found.to;
  std::map<std::optional<std::uint8_t>, std::map<PortId, PortPause>> all;
  each_history(fabric, table, [&](std::span<const SeriesHistory> of_port) {
    for (const SeriesHistory& one : of_port) {
      if (!is_pause(one.key.counter) || !newest.contains(one.source)) continue;
      const Nanoseconds to = newest.at(one.source);
      const auto grown = growth(one, to - together, to);
      if (!grown) continue;
      found.from = std::min(found.from, grown->from);
      auto& pause = all[one.key.index].try_emplace(one.port, PortPause{one.port}).first->second;
      double& counted = one.key.counter == PortCounter::pause_in ? pause.received : pause.sent;
      counted = std::max(counted, static_cast<double>(grown->grew));  // of two sources the larger
    }
  });
  for (const auto& [priority, ports] : all)
    for (const auto& [port, pause] : ports) found.by_priority[priority].push_back(pause);
  return found;
}

std::vector<ChannelEvidence> paused_channels(const Fabric& fabric, const PortPauses& pauses) {
  std::map<ChannelId, ChannelEvidence> found;
  for (const auto& [priority, ports] : pauses.by_priority)
    for (const PauseOrigin& one : pause_origins(fabric, ports)) {
      const auto why = fmt::format("{}{}{}{} ({:.0f} frames){}", kPauseFrames,
                                   priority ? fmt::format(" of priority {}", *priority) : "",
                                   kStoppedItsSender, who_began(fabric, one), one.sent, kOrSlowAsWell);
      for (const PortId port : one.stopped)
        if (const auto channel = fabric.channel_from(port))
          found.try_emplace(*channel, ChannelEvidence{*channel, Cause::congestion, 0, why});
    }
  std::vector<ChannelEvidence> all;
  for (auto& [channel, evidence] : found) all.push_back(std::move(evidence));
  return all;
}

std::string pause_text(const Fabric& fabric, const std::vector<PauseOrigin>& origins, std::size_t width) {
  std::string text;
  for (const PauseOrigin& one : origins)
    text += wrapped(fmt::format("{} ({:.0f} pause frames); ports that stood: {}", who_began(fabric, one),
                                one.sent, one.stopped.size()),
                    0, width, 2);
  return text;
}

std::string pauses_text(const Fabric& fabric, const PortPauses& pauses, std::size_t width) {
  auto text = fmt::format("counted from {} to {}\n", instant_text(pauses.from), instant_text(pauses.to));
  for (const auto& [priority, ports] : pauses.by_priority) {
    const auto origins = pause_origins(fabric, ports);
    text += fmt::format("{}: {}\n{}", priority ? fmt::format("priority {}", *priority) : "all priorities",
                        origins.empty() ? "no pauses that count" : "pauses began here",
                        pause_text(fabric, origins, width));
  }
  return text;
}

}  // namespace weft::counters
