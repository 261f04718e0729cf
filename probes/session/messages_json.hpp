// Messages as JSON text and back. Decoding trusts nothing: sizes, ranges and kinds are checked, and what does
// not fit is an Error, before it is parsed where parsing alone would cost too much (kMessageLimits).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "probes/session/messages.hpp"
#include "topology/base/json_limits.hpp"

namespace weft::session {

/// The longest text that peers may send each other. A bus may carry it in parts.
inline constexpr std::size_t kMaxMessageBytes = 64'000'000;
/// So many values tell of half a million probes, which is far more than a task asks for, and take a parser
/// half a gigabyte at worst. The deepest message, a host's inventory, has 7 levels.
inline constexpr JsonLimits kMessageLimits{.bytes = kMaxMessageBytes, .depth = 16, .values = 4'000'000};

std::string encode(const MessageToAgent& message);
std::string encode(const MessageToCoordinator& message);
Result<MessageToAgent> decode_to_agent(std::string_view text);
Result<MessageToCoordinator> decode_to_coordinator(std::string_view text);

}  // namespace weft::session
