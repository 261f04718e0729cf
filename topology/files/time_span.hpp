// Lengths of time as people give them for history and planned work.
#pragma once

#include <string_view>

#include "topology/base/units.hpp"

namespace weft::files {

/// As parse_duration, and with d (days); above zero.
Result<Nanoseconds> parse_span(std::string_view text);

}  // namespace weft::files
