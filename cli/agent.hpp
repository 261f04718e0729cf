// `weft agent`, which the coordinator's launcher starts on each host.
#pragma once

#include "cli/commands.hpp"
#include "probes/run/agent.hpp"

namespace weft::cli {

/// `arguments` as agent_arguments makes them, without the command's own name.
int run_agent_command(const Arguments& arguments, const run::AgentParts& parts);

}  // namespace weft::cli
