// Text for people, broken into lines.
#pragma once

#include <string>
#include <string_view>

namespace weft {

/// Stands for a space at which no line ends, as between a number and its unit.
inline constexpr char kNoBreak = '\x01';

/// `text` broken at spaces into lines of at most `columns`, each after `indent` spaces. A word longer than
/// the room is not broken.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns);

}  // namespace weft
