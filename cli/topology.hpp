// `weft topology`: look at, check and write fabric files. One function for each of its words.
#pragma once

#include "cli/commands.hpp"

namespace weft::cli {

int topology_command(const Arguments& arguments);

int topology_show_command(const Arguments& arguments);
int topology_check_command(const Arguments& arguments);
int topology_generate_command(const Arguments& arguments);

}  // namespace weft::cli
