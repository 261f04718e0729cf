// Counts of errors on one channel, as its receiver (or, for drops, its sender) counted them. Such a count is
// an observation of that channel like the packets of probes, but of a device that may lie. Plain values; made
// by collectors, weighed by the diagnosis.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "topology/base/ids.hpp"
#include "topology/base/units.hpp"

namespace weft {

/// What was counted, of what. The first four are losses on the wire; a discard is a drop by a device and no
/// error of a cable.
enum class CounterKind {
  codewords,  // uncorrectable codewords of the forward error correction, of all codewords of the window
  frames,     // frames with a bad FCS, of all frames that came
  symbols,    // symbol errors behind the forward error correction, of all symbols (bits where those are told)
  packets,    // packets received with errors of any kind, of all that came
  discards,   // packets that the device dropped for want of a buffer, of all that it sent or received
};

std::string_view to_string(CounterKind kind);  // "codewords"
std::optional<CounterKind> parse_counter_kind(std::string_view text);

/// Share of frames lost for a share of errors: loss hazard = frames_per_error * errors / exposure. One for
/// frames. Of codewords, how many one frame lies in, with those that are interleaved with them.
struct CounterGain {
  double frames_per_error = 1.0;  // above zero
  double spread = 0.0;            // standard deviation of its natural logarithm: 0.5 is "within 1.6 times"
  friend bool operator==(const CounterGain&, const CounterGain&) = default;
};

/// Errors that were added over a window on the one direction of a cable that `channel` is. Zero errors are a
/// statement, too: leave out a counter that was reset, stuck at its maximum, or is not there. Of a counter
/// that is known to be since the port came up only, `window` is that time.
struct ChannelCount {
  ChannelId channel;
  CounterKind kind = CounterKind::codewords;
  std::uint64_t errors = 0;
  double exposure = 0.0;  // codewords, frames, symbols, packets: what `kind` is counted of; above zero
  CounterGain gain = {};
  /// From when to when: of any clock, the same for all counts of a run.
  Nanoseconds begin{};
  Nanoseconds end{};
  Nanoseconds age{};        // of `end`, when the run was diagnosed
  Nanoseconds period{};     // between two readings; zero: not known. Older than two periods is no evidence
  bool link_event = false;  // the link went down or retrained in the window: errors of that are no loss
  std::string source;  // who says so: "symbol_error of host1/mlx5_0 (RDMA)", "prometheus: leaf4 Ethernet1/6"
};

}  // namespace weft
