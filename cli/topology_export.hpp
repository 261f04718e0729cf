// `weft topology export`: the network as a scheduler has it in a file.
#pragma once

#include "cli/words.hpp"

namespace weft::cli {

OptionParser topology_export_options();
int topology_export_command(const Arguments& arguments);

}  // namespace weft::cli
