// What a sweep would send: its own script, run over engines that simulate the fabric without a fault, and
// every wave of its work added up. Nothing is planned twice: what it tells is what the sweep does while it
// finds nothing. Pure.
#pragma once

#include "probes/plan/sending.hpp"
#include "probes/session/sweep.hpp"
#include "probes/session/work.hpp"

namespace weft::session {

/// Runs `sweep` to its end over what `open` opens for `nics`. Stopped, it is of the waves so far. Error:
/// those of opening an engine.
Result<plan::SendingPlan> dry_run(const Fabric& fabric, Sweep& sweep, const std::vector<PortId>& nics,
                                  const packet::RunSecrets& secrets, const OpenEngines& open,
                                  std::stop_token stop = {});

}  // namespace weft::session
