// Points in time as documents write them: UTC to the second, "2026-01-31T12:00:00Z" (RFC 3339).
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "topology/base/result.hpp"

namespace weft {

using UtcTime = std::chrono::sys_seconds;

std::string to_string(UtcTime time);
/// Only the form above; a day that no month has is refused.
Result<UtcTime> parse_utc(std::string_view text);

}  // namespace weft
