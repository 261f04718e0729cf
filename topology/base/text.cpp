#include "topology/base/text.hpp"

#include <algorithm>
#include <numeric>
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

/// Where a word that is longer than the room goes on in the next line: not inside a character of UTF-8.
std::size_t end_within_word(std::string_view text, std::size_t room) {
  std::size_t end = std::min(room, text.size());
  while (end > 1 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return end;
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns) {
  std::string lines;
  const std::size_t room = columns > indent + 20 ? columns - indent : 20;
  while (!text.empty()) {
    std::size_t end = text.size();
    if (end > room) {
      end = text.rfind(' ', room);
      if (end == std::string_view::npos || end == 0) end = end_within_word(text, room);
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
