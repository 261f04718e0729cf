// Calling a command as a user does, within the test's own process: its exit status and what it printed.
#pragma once

#include <string>

#include "cli/commands.hpp"

namespace weft {

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

Outcome call(int (*command)(const cli::Arguments&), const cli::Arguments& words);

/// What a command printed, its wrapped lines as one: where a line breaks depends on the length of paths in
/// it.
std::string unwrapped(const std::string& text);

}  // namespace weft
