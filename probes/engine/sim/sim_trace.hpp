// simulate_trace: which hops answer TTL-limited probes.
#pragma once

#include <stop_token>
#include <vector>

#include "probes/datapath/probe_engine.hpp"
#include "probes/engine/sim/sim_world.hpp"

namespace weft {

/// The request begins at `begin` on the simulator's clock.
std::vector<HopAnswer> simulate_trace(const SimWorld& world, PortId from, const TraceRequest& request,
                                      Nanoseconds begin, std::stop_token stop);

}  // namespace weft
