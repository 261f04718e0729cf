// --timeout: when a run ends, done or not.
#pragma once

#include "cli/options.hpp"
#include "probes/session/coordinator.hpp"

namespace weft::cli {

void add_timeout_option(po::options_description& options);
/// From now on; absent: no limit. Error: usage.
Result<std::optional<session::TimeLimit>> read_time_limit(const po::variables_map& values);

}  // namespace weft::cli
