// `weft topology`: look at, check and write fabric files. One function for each of its words.
#pragma once

#include "cli/commands.hpp"

namespace weft::cli {

/// As the kernel knows it.
std::string this_hosts_name();

int topology_command(const Arguments& arguments);

int topology_show_command(const Arguments& arguments);
int topology_check_command(const Arguments& arguments);
int topology_generate_command(const Arguments& arguments);

}  // namespace weft::cli
