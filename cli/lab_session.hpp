// A run over a lab: its agents, the server between them and us, and the coordinator that drives a script.
#pragma once

#include <optional>
#include <vector>

#include "cli/interrupt.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "topology/lab/lab.hpp"

namespace weft {

/// Opens the lab `name` for a run: moves this process to where the agents can reach it. Call before any
/// thread starts.
Result<Lab> open_lab_for_run(const std::string& name);

/// Runs `script` with agents on `hosts` of the lab (all of them when empty); blocks until it is over,
/// interrupted, or the bus is lost. Everything it started has ended when it returns.
Result<void> run_in_lab(const Lab& lab, Script& script, const RunSecrets& secrets,
                        const std::vector<NodeId>& hosts, const OnProgress& on_progress,
                        std::stop_token stop);

}  // namespace weft
