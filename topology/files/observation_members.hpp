// Members of observation lines: numbers within their limits, and when and in which order packets were lost.
// Private to topology/files.
#pragma once

#include "topology/files/json_view.hpp"
#include "topology/findings/observation.hpp"

namespace weft {

inline constexpr std::uint64_t kMaxPackets = 1'000'000'000'000'000;  // a year at a link's full rate is fewer
inline constexpr double kMaxMicros = 1e9;                            // of a round trip: a quarter of an hour

/// Precondition: below 1e15.
inline Nanoseconds from_micros(double micros) {
  return Nanoseconds(static_cast<std::int64_t>(micros * 1000.0 + 0.5));
}

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
/// An error where these contradict the counts.
Result<void> check_order(const Observation& seen);

}  // namespace weft
