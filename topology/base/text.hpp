// Text for people: broken into lines, and the known word nearest to a mistyped one.
#pragma once

#include <cstddef>
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

/// Stands for a space at which no line ends, as between a number and its unit.
inline constexpr char kNoBreak = '\x01';

/// How many columns of a terminal `text` takes: UTF-8, of which some characters take two and some none.
std::size_t columns_of(std::string_view text);

/// `text` broken at spaces into lines of at most `columns`, each after `indent` spaces. A word longer than
/// the room goes on in the next line, behind an arrow of a path where it has one: nothing is cut. What goes
/// on stands `deeper` by so many spaces.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns, std::size_t deeper = 0);

}  // namespace weft
