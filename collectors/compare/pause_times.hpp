// How long pause frames stopped the cables of a NIC, from what its device counted. Pure.
#pragma once

#include <optional>

#include "collectors/compare/measured_run.hpp"
#include "topology/files/json_view.hpp"

namespace weft::compare {

/// Of `counters.load` of a NIC in a sweep's document: counters in microseconds, by the names of mlx5. Of
/// several priorities, and of pauses of all together, the longest: they may have stood at the same time.
/// Absent: the device does not report it. Error: invalid_input, with the place.
Result<std::optional<PausedNic>> read_pauses(const files::JsonView& load);

}  // namespace weft::compare
