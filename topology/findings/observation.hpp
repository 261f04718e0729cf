// Observations: what happened to the probes and flows of a run, path by path, and what else is known of a
// channel or a host. All paths live in one PathTable beside them. Plain values; produced by a session or read
// from a file, consumed by the diagnosis.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/units.hpp"
#include "topology/findings/channel_count.hpp"
#include "topology/findings/verdict.hpp"
#include "topology/model/path.hpp"

namespace weft {

struct RttQuantiles {
  Nanoseconds p50{};
  Nanoseconds p99{};
  friend bool operator==(const RttQuantiles&, const RttQuantiles&) = default;
};

/// When the packets of an observation were sent, on the clock of the run: from `start`, evenly over `length`.
struct TimeWindow {
  Nanoseconds start{};
  Nanoseconds length{};
  friend bool operator==(const TimeWindow&, const TimeWindow&) = default;
};

/// Who sent packets to whom, and by which label.
struct LabelledPair {
  PortId src;
  PortId dst;
  PathLabel label;
  friend auto operator<=>(const LabelledPair&, const LabelledPair&) = default;
};

/// Consecutive lost packets, counted from 0 in the order in which they were sent.
struct LossRun {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  friend bool operator==(const LossRun&, const LossRun&) = default;
};

/// Probes of one size that took one path (or one of a set of paths). Without `back`, sent and lost count one
/// way: the receiver's own count. With `back`, they count round trips: the answer came back over that path
/// set. A delay is always of the round trip; where `back` is absent it is measured over the forward path
/// alone.
struct Observation {
  PathSetId path;
  std::optional<PathSetId> back = std::nullopt;
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;  // at most sent
  Bytes size;              // of one packet, from the IP header on; zero: not stated
  std::optional<RttQuantiles> rtt = std::nullopt;
  std::uint64_t corrupt = 0;  // of the packets received, those whose ICRC or pattern was wrong
  std::uint64_t excused = 0;  // of the lost, those that a host itself is known to have dropped, as it counted
  /// Echoes that their sender's host, which did not run meanwhile, let go when nobody waited for them any
  /// more, as it counted: not among the sent.
  std::uint64_t held = 0;
  std::optional<TimeWindow> window = std::nullopt;
  std::vector<LossRun> runs = {};  // of the lost packets, ascending; empty: their order is not known
  std::optional<LabelledPair> pair = std::nullopt;  // whose packets these are; of a round trip, those there
};

/// One flow of one load round: what its sender really put on the wire and what arrived, of real-size packets.
struct LoadObservation {
  PathSetId path;
  std::uint32_t round = 0;      // flows of one round ran at the same time
  Bandwidth wanted;             // what the plan asked for
  Bandwidth offered;            // what the sender achieved
  Bandwidth delivered;          // what the receiver counted
  bool sender_stalled = false;  // the host, not the fabric, held the flow back: no evidence about channels
  /// Of the sender's cable as built: a lab shapes its links below what its fabric file says. Absent: not
  /// known.
  std::optional<Bandwidth> line_rate = std::nullopt;
  std::optional<TimeWindow> window = std::nullopt;
};

/// A further sign about one channel, as a likelihood: `log_ratio` = ln P(sign | this cause here) - ln P(sign
/// | healthy), in nats. A link state, a cable's age: whatever a collector can put so and that is no count
/// (ChannelCount).
struct ChannelEvidence {
  ChannelId channel;
  Cause cause = Cause::counter;
  double log_ratio = 0.0;
  std::string text;
};

/// How evidence of a cable ends that leads elsewhere than the fabric file has it. Reports, which may be drawn
/// from a saved document, tell it from a cable that is bad by these words.
inline constexpr std::string_view kMiswired = ": a cable is miswired";

/// A fault of a host or its NIC, known without inference: its agent died, its NIC is misconfigured.
struct HostEvidence {
  NodeId host;
  std::optional<PortId> nic = std::nullopt;
  Verdict verdict = Verdict::failed;
  std::optional<Cause> cause = std::nullopt;
  std::string text;
};

struct Observations {
  PathTable paths;
  std::vector<Observation> probes;
  std::vector<LoadObservation> loads;
  std::vector<ChannelCount> counts;  // what ports counted, beside the probes
  std::vector<ChannelEvidence> channels;
  std::vector<HostEvidence> hosts;
};

}  // namespace weft
