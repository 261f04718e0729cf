// closest: the known word nearest to a mistyped one, for "did you mean".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weft {

/// The candidate at the least edit distance (Levenshtein) from `word`, when that is at most a third of the
/// word's length, and one for short words; the first of equals.
std::optional<std::string_view> closest(std::string_view word, std::span<const std::string_view> candidates);

/// ": did you mean 'X'?" or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace weft
