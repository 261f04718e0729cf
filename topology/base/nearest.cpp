#include "topology/base/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace weft {
namespace {

constexpr std::size_t kLongestCompared = 64;
constexpr std::size_t kMostEdits = 2;

/// Levenshtein distance, one row at a time.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > kLongestCompared) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t fewest = std::min(kMostEdits + 1, word.size());
  for (const auto candidate : known)
    if (const auto distance = edits(word, candidate); distance < fewest) {
      fewest = distance;
      best = candidate;
    }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  const auto meant = nearest(word, known);
  return meant ? fmt::format("; did you mean '{}'?", *meant) : std::string();
}

std::string listed(std::span<const std::string_view> words) {
  return fmt::format("{}", fmt::join(words.begin(), words.end(), ", "));
}

}  // namespace weft
