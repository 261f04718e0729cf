// What one observation line holds, and the observation that it becomes. A line of probes in the usual shape
// is scanned in one pass without a tree; of all others the members are read from JSON: numbers within their
// limits, and when and in which order packets were lost. Private to topology/files.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "topology/files/json_view.hpp"
#include "topology/findings/observation.hpp"

namespace weft {
class Fabric;
}

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
  std::uint64_t held = 0;
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
/// Reads 'excused', 'held', 'window' and 'runs' into `seen`.
Result<void> read_order(const JsonView& view, Observation& seen);
/// Who sent an observation's packets, as the line names them.
struct ReportedPair {
  std::optional<std::string> src;
  std::optional<std::string> dst;
  std::optional<std::uint32_t> label;
};
Result<ReportedPair> read_labelled(const JsonView& view);
/// A 'count' (what a port counted) of this channel: exposure and gain above zero, times within a century.
Result<ChannelCount> read_channel_count(const JsonView& view, ChannelId channel);
/// An error where these contradict the counts.
Result<void> check_order(const Observation& seen);

/// What the names in rows stand for. The fabric must outlive it.
class RowNames {
 public:
  explicit RowNames(const Fabric& fabric);

  const Fabric& fabric() const { return fabric_; }
  Result<ChannelId> channel(std::string_view name) const;
  /// Channels that go on where the one before ends, in no circle.
  Result<PathId> path(std::span<const std::string_view> names, PathTable& table);
  /// An error where one of the three is absent: they belong together.
  Result<LabelledPair> pair(std::string_view src, std::string_view dst,
                            std::optional<std::uint32_t> label) const;

 private:
  const Fabric& fabric_;
  std::vector<std::string> names_;  // by channel
  std::unordered_map<std::string_view, ChannelId> channels_;
  std::vector<ChannelId> path_;  // storage that is used again
};

/// Rows as observations: each is checked against the fabric and against itself, and added whole or not at
/// all.
class ObservationRows {
 public:
  /// How many rows there are of the kinds that have a time.
  struct Ends {
    std::size_t probes = 0;
    std::size_t loads = 0;
  };

  explicit ObservationRows(const Fabric& fabric) : names_(fabric) {}

  Result<void> add(const ProbeLine& line);
  /// A row of any kind.
  Result<void> add(const JsonView& row);

  Ends ends() const { return {all_.probes.size(), all_.loads.size()}; }
  /// Takes back what came after.
  void take_back_to(const Ends& ends);
  Observations finish() && { return std::move(all_); }

 private:
  Result<std::optional<PathSetId>> path_set(const JsonView& row, std::string_view one,
                                            std::string_view several);
  Result<PathSetId> needed_path(const JsonView& row);
  Result<void> add_probes(const JsonView& row);
  Result<void> check_rates(const LoadObservation& seen) const;
  Result<void> add_load(const JsonView& row);
  Result<void> add_count(const JsonView& count);
  Result<void> add_channel_sign(const JsonView& row);
  Result<void> add_host_sign(const JsonView& row);

  RowNames names_;
  Observations all_;
};

}  // namespace weft::files
