// What a watch shows of counters: ports that degrade and ports that counted errors, from readings of days.
// And which readings it keeps for that: the newest of every two hours, and what those tell of modules. Pure.
#pragma once

#include <map>
#include <string>

#include "collectors/counters/counter_series.hpp"
#include "topology/findings/port_warning.hpp"

namespace weft::counters {

/// Of readings that were kept, one each so much time; what is older than two of them says nothing of now.
inline constexpr Nanoseconds kKeptEvery = std::chrono::hours(2);
/// The fortnight that early warning looks at, and a day.
inline constexpr Nanoseconds kKeptFor = std::chrono::hours(15 * 24);

/// The table is sorted. `now`: since 1970, by the wall clock.
PortWarnings port_warnings(const Fabric& fabric, CounterTable& table, Nanoseconds now);

/// Early warning needs it.
bool is_kept(PortCounter counter);
/// By the begin of each two hours since 1970 from `from` on: of the counters that early warning needs, and of
/// temperatures, the newest readings in it, as weft.counters/1.
std::map<Nanoseconds, std::string> readings_to_keep(const Fabric& fabric, const CounterTable& table,
                                                    Nanoseconds from);

/// Another module or cable in a port than before, as the serials say that one source told.
struct ModuleChange {
  PortId port;
  std::string before, after;  // serials
  Nanoseconds from{}, at{};   // between the last reading of the one and the first of the other; since 1970
};
/// The last one of each port, by port; none where the newest serial is the oldest one: a source that takes
/// turns between two says nothing. Points are in the order of time.
std::vector<ModuleChange> module_changes(const CounterTable& table);

}  // namespace weft::counters
