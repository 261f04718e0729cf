// simulate_ping: what becomes of the echoed probes of one NIC's request.
#pragma once

#include <stop_token>
#include <vector>

#include "probes/datapath/probe_engine.hpp"
#include "probes/engine/sim/random_stream.hpp"
#include "probes/engine/sim/sim_world.hpp"

namespace weft::sim {

struct SimPingResult {
  std::vector<datapath::PingTally> tallies;
  std::vector<SimReceipt> receipts;
  std::uint64_t dropped = 0;  // echoes, by the prober's own host
};

/// The request begins at `begin` on the simulator's clock.
SimPingResult simulate_ping(const SimWorld& world, PortId from, const datapath::PingRequest& request,
                            Nanoseconds begin, std::stop_token stop);

/// Quantiles of so many round trips over so many channels that take these times but for queues that come and
/// go.
RttQuantiles with_jitter(const RttQuantiles& fixed, std::size_t channels, std::uint32_t answered,
                         RandomStream& random);

}  // namespace weft::sim
