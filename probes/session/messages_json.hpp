// Messages as JSON text and back. Decoding trusts nothing: sizes, ranges and kinds are checked, and what does
// not fit is an Error. A message is at most kMostMessageBytes long.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "probes/session/messages.hpp"

namespace weft {

/// The answers to some two million probes: far more than a task asks for. A bus may carry it in parts.
inline constexpr std::size_t kMostMessageBytes = 64'000'000;

std::string encode(const ToAgent& message);
std::string encode(const ToCoordinator& message);
Result<ToAgent> decode_to_agent(std::string_view text);
Result<ToCoordinator> decode_to_coordinator(std::string_view text);

}  // namespace weft
