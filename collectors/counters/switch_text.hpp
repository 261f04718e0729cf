// What switches print of their counters, as JSON: SONiC's COUNTERS_DB (`redis-cli -n 2 --json`,
// `sonic-db-dump -n COUNTERS_DB -y`), `portstat -j`, NVUE's `nv show interface -o json`. None of them says
// when it was read.
#pragma once

#include <string_view>

#include "collectors/counters/counter_series.hpp"

namespace weft::counters {

enum class SwitchForm { weft, sonic_db, portstat, nvue };

/// The answer of one switch in whichever form it has; weft.counters/1 (counter_file.hpp) too. `node`: whose
/// it is; `at`: when it was read, for forms that do not say. Errors (invalid_input): none of these forms, no
/// counter of a port of the switch.
Result<SwitchForm> read_switch_text(const Fabric& fabric, std::string_view text, std::string_view name,
                                    std::string_view node, Nanoseconds at, CounterTable& into);

}  // namespace weft::counters
