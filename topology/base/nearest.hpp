// nearest: the known word a mistyped one was probably meant to be, for error messages.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weft {

/// The word of `known` fewest edits (insert, delete, change one letter) away from `word`, at most two and
/// fewer than its length; the first of equals. Words above 64 letters are not compared.
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> known);

/// "; did you mean 'X'?" or nothing, to end an error message with.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

/// "a, b, c".
std::string listed(std::span<const std::string_view> words);

}  // namespace weft
