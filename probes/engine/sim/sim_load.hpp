// simulate_load: the flows of one round, which run at the same time and share the fabric.
#pragma once

#include <span>
#include <vector>

#include "probes/datapath/flow_engine.hpp"
#include "probes/engine/sim/sim_world.hpp"

namespace weft::sim {

/// One flow as its sender ran it.
struct SimFlow {
  PortId from;
  PortId to;
  std::uint32_t spec = 0;
  PathLabel label;
  Bandwidth rate;
  Bytes size;
  std::uint64_t packets = 0;
  Nanoseconds begin{};  // on the simulator's clock
  Nanoseconds duration{};
};

/// The flows of a request. Tallies of all specs; of flows to nobody, only that.
struct SimFlows {
  std::vector<datapath::FlowTally> tallies;
  std::vector<SimFlow> flows;
};
SimFlows start_flows(const SimWorld& world, PortId from, const datapath::FlowRequest& request,
                     Nanoseconds begin);

/// What their receivers count. The order of `flows` does not matter.
std::vector<SimReceipt> simulate_load(const SimWorld& world, BatchId batch, std::span<const SimFlow> flows);

/// The channels half way through the time of these flows, which run together, as few packets beside them find
/// them: behind what the flows bring to each, as behind traffic of others.
ChannelStates channels_under(const SimWorld& world, std::span<const SimFlow> flows);

}  // namespace weft::sim
