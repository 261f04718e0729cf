#include "topology/base/outside_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace weft {
namespace {

bool is_plain(char c) { return c >= 0x20 && c < 0x7F; }

struct Character {
  std::uint32_t code = 0;
  std::size_t size = 0;  // in bytes; zero: no UTF-8 begins here
};

/// The character that a text (not empty) begins with: RFC 3629, without overlong forms and surrogates.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {};
  std::uint32_t code = lead & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  const bool overlong = code < (size == 4 ? 0x10000u : size == 3 ? 0x800u : 0x80u);
  if (overlong || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, size};
}

/// Of Unicode's Bidi_Control property, and its line and paragraph separators.
bool steers_text(std::uint32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string outside_text(std::string_view text, LineBreaks breaks) {
  if (std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string shown;
  shown.reserve(text.size() + 16);
  while (!text.empty()) {
    const auto [code, size] = first_of(text);
    const auto taken = std::max<std::size_t>(size, 1);
    if (size == 0 || code < 0x20 || code == 0x7F) {
      if (code == '\n' && breaks == LineBreaks::kept)
        shown += '\n';
      else
        fmt::format_to(std::back_inserter(shown), "\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if ((code >= 0x80 && code < 0xA0) || steers_text(code)) {
      fmt::format_to(std::back_inserter(shown), "\\u{:04x}", code);
    } else {
      shown += text.substr(0, taken);
    }
    text.remove_prefix(taken);
  }
  return shown;
}

bool is_harmless(std::string_view text) {
  return std::ranges::all_of(text, is_plain) || outside_text(text) == text;
}

}  // namespace weft
