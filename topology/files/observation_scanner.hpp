// ObservationScanner: one line of probes in the usual shape, scanned in one pass without a tree. Private to
// topology/files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "topology/findings/observation.hpp"

namespace weft {

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
};

/// Fills `line`, whose storage is used again. False when anything is out of the ordinary (another key, a path
/// set, an escape, a fraction where a count is due, a syntax error): then JSON has to say what it is.
bool scan_probe_line(std::string_view text, ProbeLine& line);

}  // namespace weft
