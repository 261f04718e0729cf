// weft.counters/1 (docs/counters.md): readings of port counters as JSON Lines, the form that a site's own
// script writes. The first line says the schema; its other members hold for every line that has none of its
// own, until another line says the schema. A line is a port at a time. What nobody vouches for: a line that
// cannot be used is a remark.
#pragma once

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

/// What read_counter_file reads back: each point with its source and what that said of its epoch.
std::string write_counter_file(const Fabric& fabric, const CounterTable& table);

}  // namespace weft::counters
