// `weft topology routes`: what the forwarding tables of an InfiniBand fabric amount to.
#pragma once

#include "cli/words.hpp"

namespace weft::cli {

OptionParser topology_routes_options();
int topology_routes_command(const Arguments& arguments);

}  // namespace weft::cli
