#include "cli/commands.hpp"

namespace weft {

int run_command_line(int, char**) { return 64; }

}  // namespace weft
