// weft.counters/1 (docs/counters.md): readings of port counters as JSON Lines, the form that a site's own
// script writes. The first line says the schema; its other members hold for every line that has none of its
// own, until another line says the schema. A line is a port at a time. What nobody vouches for: a line that
// cannot be used is a remark.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "collectors/counters/counter_series.hpp"

namespace weft::counters {

inline constexpr std::string_view kCounterSchema = "weft.counters/1";

/// Whether the text says that it is of this form.
bool is_counter_file(std::string_view text);

/// `name` is the source where no line names one; `node`: the switch that is meant where a line names none
/// (empty: lines must). A line from later than `now`, since 1970 and with what clocks may differ, is a
/// remark. Errors (invalid_input): another schema, no line of use, too many values.
Result<void> read_counter_file(const Fabric& fabric, std::string_view text, std::string_view name,
                               std::string_view node, Nanoseconds now, CounterTable& into);

/// The ports that one host tells of, by the names that it has for them; all that it tells is of `source`.
struct HostPorts {
  std::string source;
  std::map<std::string, PortId, std::less<>> ports;
};
inline constexpr std::size_t kMaxHostCounters = 262'144;  // bytes: 64 NICs with all that they count
/// A host's reading is of now; one that waited for the bus is older.
inline constexpr Nanoseconds kOldestHostReading = std::chrono::hours(2);

/// What a host tells of its own ports, which is believed of these alone: `source`, `host` and `switch` of the
/// text count for nothing, a port that is none of `own` is a remark, and so are a second line of a port, a
/// time ahead or long ago, and words longer than devices have. One from a little ahead is of `now`.
/// Errors (invalid_input): too long, another schema, no line of use.
Result<void> read_host_counters(const Fabric& fabric, const HostPorts& own, std::string_view text,
                                Nanoseconds now, CounterTable& into);

/// What read_counter_file reads back: each point with its source and what that said of its epoch, and
/// temperatures.
std::string write_counter_file(const Fabric& fabric, const CounterTable& table);

}  // namespace weft::counters
