// The clocks of the machine: one that may be set while we run, for times that people and other hosts read,
// and one that only goes forward, for durations and deadlines.
#pragma once

#include "topology/base/units.hpp"

namespace weft::os {

/// Since 1970.
inline Nanoseconds wall_now() { return std::chrono::system_clock::now().time_since_epoch(); }

/// Since some moment of this boot; all processes of a machine read the same.
inline Nanoseconds steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace weft::os
