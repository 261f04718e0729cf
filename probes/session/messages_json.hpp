// Messages as JSON text and back. Decoding trusts nothing: sizes, ranges and kinds are checked, and what does
// not fit is an Error. A message is at most kMostMessageBytes long (the default limit of a NATS server).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "probes/session/messages.hpp"

namespace weft {

inline constexpr std::size_t kMostMessageBytes = 1'000'000;

std::string encode(const ToAgent& message);
std::string encode(const ToCoordinator& message);
Result<ToAgent> decode_to_agent(std::string_view text);
Result<ToCoordinator> decode_to_coordinator(std::string_view text);

}  // namespace weft
