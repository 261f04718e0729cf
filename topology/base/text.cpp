#include "topology/base/text.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace weft {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

struct Character {
  std::size_t bytes;
  std::size_t columns;
};

/// The first character of UTF-8 in `text`; a byte that begins none is a character of its own.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t bytes = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : byte(0) >= 0xC0 ? 2 : 1;
  std::uint32_t code = bytes == 1 ? byte(0) : byte(0) & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if (i >= text.size() || (byte(i) & 0xC0U) != 0x80U) return {1, 1};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const auto within = [code](std::uint32_t first, std::uint32_t last) {
    return code >= first && code <= last;
  };
  // Unicode's East Asian Width: what is wide or full width. Combining marks and joiners take no column.
  if (within(0x300, 0x36F) || within(0x200B, 0x200F) || within(0xFE00, 0xFE0F)) return {bytes, 0};
  const bool wide = within(0x1100, 0x115F) || within(0x2E80, 0xA4CF) || within(0xAC00, 0xD7A3) ||
                    within(0xF900, 0xFAFF) || within(0xFE30, 0xFE6F) || within(0xFF00, 0xFF60) ||
                    within(0xFFE0, 0xFFE6) || within(0x1F300, 0x1F64F) || within(0x1F900, 0x1F9FF) ||
                    within(0x20000, 0x3FFFD);
  return {bytes, wide ? 2U : 1U};
}

/// How many bytes of `text` fit into `room` columns; one character at least.
std::size_t bytes_within(std::string_view text, std::size_t room) {
  std::size_t bytes = 0;
  for (std::size_t columns = 0; bytes < text.size();) {
    const Character next = first_character(text.substr(bytes));
    columns += next.columns;
    if (columns > room && bytes > 0) break;
    bytes += next.bytes;
  }
  return bytes;
}

/// Where a word that does not fit goes on in the next line: behind the last arrow or cable that fits and
/// leaves no ribbon.
std::size_t end_within_word(std::string_view fitting) {
  std::size_t end = 0;
  for (const std::string_view mark : {"->", "--"})
    if (const std::size_t at = fitting.rfind(mark); at != std::string_view::npos)
      end = std::max(end, at + mark.size());
  return end > fitting.size() / 3 ? end : fitting.size();
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character next = first_character(text);
    columns += next.columns;
    text.remove_prefix(next.bytes);
  }
  return columns;
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns, std::size_t deeper) {
  constexpr std::size_t kMinRoom = 20;
  std::string lines;
  for (bool first = true; !text.empty(); first = false) {
    if (!first && deeper > 0) indent += std::exchange(deeper, 0);
    const std::size_t room = columns > indent + kMinRoom ? columns - indent : kMinRoom;
    std::size_t end = bytes_within(text, room);
    if (end < text.size()) {
      const std::size_t space = text.rfind(' ', end);
      const bool has_space = space != std::string_view::npos && space > 0;
      end = has_space ? space : end_within_word(text.substr(0, end));
    }
    lines += std::string(indent, ' ') + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end, text.size()));
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  std::ranges::replace(lines, kNoBreak, ' ');
  return lines;
}

std::optional<std::string_view> closest(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t kMaxWordLength = 64;  // nothing longer is a typing mistake of a known word
  if (word.size() > kMaxWordLength) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates)
    if (const auto distance = edit_distance(word, candidate); distance < least) {
      least = distance;
      best = candidate;
    }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const auto best = closest(word, candidates);
  return best ? ": did you mean '" + std::string(*best) + "'?" : std::string();
}

}  // namespace weft
