// What stdout is: how wide, and whether it takes colours.
#pragma once

#include <cstddef>
#include <string>

namespace weft::cli {

/// Of the terminal; 80 where stdout is none.
std::size_t terminal_columns();
bool stdout_is_terminal();
/// `asked`: auto, always or never. Auto: on a terminal that is not dumb, unless NO_COLOR is set.
bool wants_colour(const std::string& asked);

/// `text` on stdout in lines that fit; what goes on stands deeper.
void print_wrapped(const std::string& text, std::size_t indent = 0);

}  // namespace weft::cli
