#pragma once

namespace weft {

int run_command_line(int argc, char** argv);

}  // namespace weft
