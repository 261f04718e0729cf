// Names of other sources that stand for a counter with an index: "rx_prio#_pause" of a priority. Pure.
#pragma once

#include <fmt/format.h>

#include "collectors/counters/port_counter.hpp"

namespace weft::counters {

/// What a source's name says where it is `pattern`, in which '#' stands for the index of `counter`:
/// "rx_prio3_pause" is of index 3. Absent: another name, or no index of that counter.
inline std::optional<CounterKey> key_by_pattern(std::string_view pattern, PortCounter counter,
                                                std::string_view name) {
  const auto hole = pattern.find('#');
  if (hole == std::string_view::npos)
    return name == pattern ? std::optional(CounterKey{counter}) : std::nullopt;
  const auto before = pattern.substr(0, hole), behind = pattern.substr(hole + 1);
  if (name.size() <= before.size() + behind.size() || !name.starts_with(before) || !name.ends_with(behind))
    return std::nullopt;
  const auto number = name.substr(before.size(), name.size() - before.size() - behind.size());
  return parse_counter_key(fmt::format("{}.{}", to_string(counter), number));
}

}  // namespace weft::counters
