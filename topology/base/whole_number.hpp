// A text that is one whole number and nothing else, as a GUID without its 0x or the value of an option.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>

namespace weft {

/// Absent: it has another character (a sign, a space, 0x), none at all, or the number is too large.
template <std::unsigned_integral Number>
std::optional<Number> parse_whole_number(std::string_view text, int base = 10) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace weft
