// --job: the hosts of a sweep, and how agents come to run on them, from the scheduler's allocation that this
// program runs in.
#pragma once

#include "cli/options.hpp"
#include "probes/run/packet_class.hpp"

namespace weft::cli {

void add_job_option(po::options_description& options);

/// With --job: gives --hosts and --launcher the values of the allocation, where they are not given. Errors
/// (usage): no allocation, or what the environment lacks of it.
Result<void> read_job(po::variables_map& values, const run::Environment& environment);

}  // namespace weft::cli
