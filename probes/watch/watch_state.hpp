// WatchState: all that a watcher knows at one moment, as a plain value: what metrics, the live page and the
// store show. Made by Watcher::state(); a copy, so whoever has it may keep it. Ids are of the Fabric named.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/watch/assignment.hpp"
#include "topology/findings/incident.hpp"

namespace weft::watch {

/// Of one channel, over the last minute.
struct ChannelState {
  std::uint64_t sent = 0;  // probes and echoes whose path crossed it for certain
  std::uint64_t lost = 0;  // of these, lost on any channel of their path
  bool covered = false;    // the plan crosses it
  bool fresh = false;      // something was heard of it lately: else its verdict is unknown
  Verdict verdict = Verdict::unknown;
  std::uint64_t sent_in_all = 0;  // as sent and lost, since the watcher's start: never less than before
  std::uint64_t lost_in_all = 0;
  friend bool operator==(const ChannelState&, const ChannelState&) = default;
};

enum class AgentPresence : std::uint8_t { never_seen, present, silent, gone_planned };

struct AgentState {
  NodeId host;
  AgentPresence presence = AgentPresence::never_seen;
  Nanoseconds lag{};          // from the end of its last window's sending to its being summed
  std::uint64_t windows = 0;  // summed
  std::uint64_t gaps = 0;     // windows that never came
  std::uint64_t refused = 0;  // windows that could not be believed
  std::uint64_t stalled = 0;  // windows in which its host held it up, or a NIC of it dropped frames
  std::uint64_t spooled = 0;  // windows that wait for the bus, as it said last
  std::uint64_t dropped = 0;  // windows that found no room there, since it began
  PlanVersion plan;           // by which it probes
  friend bool operator==(const AgentState&, const AgentState&) = default;
};

struct WatchState {
  std::string fabric;
  std::uint64_t version = 0;  // grows with each change of what is shown
  Nanoseconds at{};           // wall clock, since 1970
  PlanVersion plan;
  Verdict verdict = Verdict::unknown;  // of the fabric as a whole
  std::vector<ChannelState> channels;  // by ChannelId
  std::vector<AgentState> agents;      // by host, in the order of NodeId
  std::vector<Incident> incidents;     // not closed, worst first
  std::vector<ChannelId> uncovered;    // that the plan cannot cover, ascending
  bool active = true;                  // this watcher holds the lease
  bool routes_moved = false;           // elsewhere than the plan has them; paths are to be mapped again
  bool paths_known = true;             // the plan is of a mapping since this watcher became active
  std::uint64_t windows = 0;           // summed since its start
  std::uint64_t path_windows = 0;      // rows of them
  Nanoseconds last_look{};             // how long the last diagnosis took
};

}  // namespace weft::watch
