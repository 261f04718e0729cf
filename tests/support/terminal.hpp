// Calling a command on a terminal of a chosen size, and what stands on its screen afterwards.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"

namespace weft {

struct Screen {
  int status = 0;
  std::string bytes;               // as the command wrote them
  std::vector<std::string> lines;  // what is left to be seen, as if none were too long
};

/// stdout and stderr are one pseudo-terminal of that many columns; TERM says what it is. Failed where the
/// system has none to give.
Screen call_on_terminal(int (*command)(const cli::Arguments&), const cli::Arguments& words,
                        unsigned short columns, const char* term = "xterm");

}  // namespace weft
