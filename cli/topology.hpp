// `weft topology`: look at, check and write fabric files. One function for each of its words.
#pragma once

#include "cli/words.hpp"

namespace weft::cli {

const WordGroup& topology_words();
/// As the kernel knows it.
std::string this_hosts_name();

int topology_command(const Arguments& arguments);

OptionParser topology_show_options();
int topology_show_command(const Arguments& arguments);
OptionParser topology_check_options();
int topology_check_command(const Arguments& arguments);
OptionParser topology_generate_options();
int topology_generate_command(const Arguments& arguments);
/// The network as a scheduler has it in a file.
OptionParser topology_export_options();
int topology_export_command(const Arguments& arguments);

}  // namespace weft::cli
