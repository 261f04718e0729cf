// The options that sweep and simulate share, and how they are read.
#pragma once

#include "cli/options.hpp"
#include "probes/session/sweep_options.hpp"

namespace weft {

void add_sweep_options(po::options_description& options, const char* default_load);

/// `live`: a fabric that jobs run on; labs and simulations answer as fast as they are asked.
Result<SweepOptions> read_sweep_options(const po::variables_map& values, bool live);

}  // namespace weft
