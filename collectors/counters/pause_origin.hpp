// Where pause frames began. A port that does not take what comes sends its peer pause frames; the peer
// stands, its switch fills up and pauses others in turn. So one slow receiver stops ports far from it.
// Followed hop by hop, from what a port received to whom its peer's switch was itself stopped by, they end at
// the port that began: that of a NIC (its host is slow, not the fabric), of a switch, or nowhere, in a ring.
// No cable is accused. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectors/counters/port_history.hpp"
#include "topology/findings/observation.hpp"

namespace weft::counters {

/// Pause frames of one priority (or all together, where a source tells no priorities) over one window.
struct PortPause {
  PortId port;
  double received = 0;  // by the port: it had to stand
  double sent = 0;      // by the port: its peer had to stand
};

enum class PauseCause {
  slow_host,    // a NIC began: it does not take what comes
  slow_switch,  // a port of a switch began, whose other ports were not stopped: its queues filled by
                // themselves
  ring,         // switches stop each other in a circle: a deadlock
};
std::string_view to_string(PauseCause cause);

struct PauseOrigin {
  PauseCause cause = PauseCause::slow_host;
  std::vector<PortId> ports;    // that began; of rings the sending ports, those that sent most first
  std::vector<PortId> stopped;  // that stood because of it, each once
  double sent = 0;              // pause frames of those that began
};

/// Origins, that which sent most first; of one priority. A pause counts from kMinPause frames on; where the
/// two ends of a cable tell different numbers, the smaller is believed, and where one tells none, the
/// other's.
inline constexpr double kMinPause = 10;
std::vector<PauseOrigin> pause_origins(const Fabric& fabric, std::span<const PortPause> pauses);

/// Pauses that lie further apart have nothing to do with each other.
inline constexpr Nanoseconds kPausesTogether = std::chrono::hours(1);
struct PortPauses {
  Nanoseconds from{}, to{};  // of the windows that count: back from the newest reading of each source
  /// By priority (absent: all together) what each port received and sent.
  std::map<std::optional<std::uint8_t>, std::vector<PortPause>> by_priority;
};
/// The table is sorted. What sources whose newest reading is older than `since` told is left out.
PortPauses port_pauses(const Fabric& fabric, CounterTable& table, Nanoseconds together = kPausesTogether,
                       Nanoseconds since = {});

/// Of each channel whose sender stood because of pauses: who began, as a sign of congestion with a ratio of
/// 0: beside a finding it is evidence, alone it is none of a fault.
std::vector<ChannelEvidence> paused_channels(const Fabric& fabric, const PortPauses& pauses);

/// Who began, in words, with the frames sent and how many ports stood; an entry each, sorted as they are.
std::string pause_text(const Fabric& fabric, const std::vector<PauseOrigin>& origins, std::size_t width);

/// The same of each priority, with the time over which they are counted.
std::string pauses_text(const Fabric& fabric, const PortPauses& pauses, std::size_t width);

}  // namespace weft::counters
