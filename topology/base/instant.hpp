// Points in time finer than a second, as documents write them: UTC with as many digits behind the second as
// it needs, "2026-01-31T12:00:00.25Z" (RFC 3339). They travel as nanoseconds since 1970.
#pragma once

#include <string>
#include <string_view>

#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft {

/// Of a time from 1970 to 2262, which is all that 64 bits hold.
std::string instant_text(Nanoseconds since_1970);
/// Only the form above, with 0 to 9 digits behind the second, from 1970 to 2262.
Result<Nanoseconds> parse_instant(std::string_view text);

}  // namespace weft
