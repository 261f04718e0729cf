// The options that say how a load moves its bytes over queue pairs, and how they are read.
#pragma once

#include "cli/options.hpp"
#include "probes/run/agent_options.hpp"
#include "probes/session/sweep_options.hpp"

namespace weft::cli {

void add_flow_options(po::options_description& options);

/// Into `options`. Errors: usage (out of range; given although `engine` is not verbs, the only one with queue
/// pairs).
Result<void> read_flow_options(const po::variables_map& values, run::EngineKind engine,
                               session::SweepOptions& options);

}  // namespace weft::cli
