// `weft topology show --host`: what one host has and how it is set, and what is odd about it.
#pragma once

#include "cli/options.hpp"

namespace weft {

/// Of this host, or of one captured under a folder; `values` holds `host` and `output`.
int show_host(const po::variables_map& values);

}  // namespace weft
