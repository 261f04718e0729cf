// The clock of the machine, which may be set while we run: for times that people and other hosts read.
#pragma once

#include "topology/base/units.hpp"

namespace weft::os {

/// Since 1970.
inline Nanoseconds wall_now() { return std::chrono::system_clock::now().time_since_epoch(); }

}  // namespace weft::os
