// Window: what became of the probes that an agent sent in about a second. It says how far each NIC came in
// its schedule and which of those probes were not answered; what it does not list was answered. How many
// probes of a stream were sent follows from the schedule. Binary on the wire (encode_window): versioned,
// bounded, never trusted.
#pragma once

#include <cstdint>
#include <vector>

#include "probes/watch/assignment.hpp"
#include "topology/base/bytes.hpp"
#include "topology/findings/latency_histogram.hpp"

namespace weft::watch {

/// Where a probe or its echo was lost. open: no later echo of the stream has told yet.
enum class LostWay : std::uint8_t { there, back, open };

struct LostProbe {
  std::uint32_t offset = 0;  // of its number from NicWindow::first
  LostWay way = LostWay::open;
  friend bool operator==(const LostProbe&, const LostProbe&) = default;
};

/// A probe that an earlier window of this plan listed as open, and whose way has become known since.
struct SettledProbe {
  std::uint64_t number = 0;  // in the schedule
  LostWay way = LostWay::there;
  friend bool operator==(const SettledProbe&, const SettledProbe&) = default;
};

/// Round trips of a stream since the last time that they were told (about ten seconds).
struct StreamDelays {
  std::uint32_t stream = 0;  // index into NicSchedule::streams
  LatencyHistogram rtt;
  friend bool operator==(const StreamDelays&, const StreamDelays&) = default;
};

/// The router that answered where the hops of a trace of a stream ran out (StreamSpec::trace_hop).
struct TracedHop {
  std::uint32_t stream = 0;
  IpAddress from;
  friend bool operator==(const TracedHop&, const TracedHop&) = default;
};

struct NicWindow {
  std::uint32_t nic = 0;              // index into Assignment::nics
  std::uint64_t first = 0;            // number of the first probe in the schedule
  std::uint32_t count = 0;            // probes sent from there on
  std::vector<LostProbe> lost;        // ascending by offset, all below count
  std::vector<SettledProbe> settled;  // ascending, all below first
  std::vector<StreamDelays> delays;   // ascending by stream
  /// Frames that this host is known to have dropped unread (a full socket): echoes or probes of others, and
  /// which they are is not known. Where there are any, losses of this window say nothing.
  std::uint32_t dropped = 0;
  std::vector<TracedHop> traced = {};  // ascending by stream
  friend bool operator==(const NicWindow&, const NicWindow&) = default;
};

struct Window {
  std::uint64_t boot = 0;    // drawn as the agent starts; with host and number it identifies the window
  std::uint64_t number = 0;  // from 0 in each boot, without a gap
  PlanVersion plan;
  Nanoseconds begin{};   // of the agent's steady clock since its start
  Nanoseconds length{};  // of the time in which the probes left
  bool stalled = false;  // the host did not let the agent run in time: losses of this window say nothing, nor
                         // do those of what others sent to it meanwhile
  std::vector<NicWindow> nics;
  friend bool operator==(const Window&, const Window&) = default;
};

/// A window is refused beyond these: no honest one comes near.
inline constexpr std::size_t kMaxWindowBytes = 262'144;
inline constexpr std::uint32_t kMaxProbesOfWindow = 100'000;  // of a NIC

std::vector<std::byte> encode_window(const Window& window);
/// Error: invalid_input, which says what is wrong and where.
Result<Window> decode_window(ByteSpan bytes);

}  // namespace weft::watch
