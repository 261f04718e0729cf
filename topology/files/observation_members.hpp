// What one observation line holds. A line of probes in the usual shape is scanned in one pass without a tree;
// of all others the members are read from JSON: numbers within their limits, and when and in which order
// packets were lost. Private to topology/files.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "topology/files/json_view.hpp"
#include "topology/findings/observation.hpp"

namespace weft::files {

/// A line of probes as it stands there; names point into the line.
struct ProbeLine {
  std::vector<std::string_view> path;
  std::vector<std::string_view> back;
  bool has_back = false;
  std::optional<std::uint64_t> sent;
  std::optional<std::uint64_t> lost;
  std::uint64_t bytes = 0;
  std::uint64_t corrupt = 0;
  std::optional<double> p50_us;
  std::optional<double> p99_us;
  std::uint64_t excused = 0;
  std::optional<double> start_us;
  std::optional<double> length_us;
  std::vector<LossRun> runs;
  std::string_view src, dst;  // empty: not told
  std::optional<std::uint32_t> label;
  std::optional<std::uint64_t> row;
};

/// Fills `line`, whose storage is used again. False when anything is out of the ordinary (another key, a path
/// set, an escape, a fraction where a count is due, a syntax error): then JSON has to say what it is.
bool scan_probe_line(std::string_view text, ProbeLine& line);

inline constexpr std::uint64_t kMaxPackets = 1'000'000'000'000'000;  // a year at a link's full rate is fewer
inline constexpr double kMaxMicros = 1e9;                            // of a round trip: a quarter of an hour

/// Precondition: below 1e15.
inline Nanoseconds from_micros(double micros) { return Nanoseconds(std::llround(micros * 1000.0)); }

/// At most kMaxPackets. `otherwise`: where the member is absent.
Result<std::uint64_t> read_count(const JsonView& view, std::string_view key,
                                 std::optional<std::uint64_t> otherwise);
/// From 0 to `most`.
Result<double> read_number(const JsonView& view, std::string_view key, double most);
/// Absent where the line has none.
Result<std::optional<TimeWindow>> read_window(const JsonView& view);
/// Reads 'excused', 'window' and 'runs' into `seen`.
Result<void> read_order(const JsonView& view, Observation& seen);
/// Who sent an observation's packets, as the line names them.
struct ToldPair {
  std::optional<std::string> src;
  std::optional<std::string> dst;
  std::optional<std::uint32_t> label;
};
Result<ToldPair> read_labelled(const JsonView& view);
/// A 'count' (what a port counted) of this channel: exposure and gain above zero, times within a century.
Result<ChannelCount> read_channel_count(const JsonView& view, ChannelId channel);
/// An error where these contradict the counts.
Result<void> check_order(const Observation& seen);

}  // namespace weft::files
