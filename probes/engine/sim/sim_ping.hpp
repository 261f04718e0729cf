// simulate_ping: what becomes of echoed probes: each batch of packets of one spec by a few draws, not one by
// one.
#pragma once

#include <stop_token>
#include <vector>

#include "probes/engine/sim/sim_world.hpp"
#include "probes/wire/probe_engine.hpp"

namespace weft {

struct SimPingResult {
  std::vector<PingTally> tallies;
  std::vector<SimReceipt> receipts;
};

SimPingResult simulate_ping(const SimWorld& world, PortId from, const PingRequest& request,
                            std::stop_token stop);

}  // namespace weft
