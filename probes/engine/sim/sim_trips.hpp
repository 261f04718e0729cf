// simulate_trips: what becomes of the small probes beside the flows of one NIC's request.
#pragma once

#include <vector>

#include "probes/datapath/flow_engine.hpp"
#include "probes/engine/sim/sim_world.hpp"

namespace weft::sim {

/// Puts them into the tallies of the flows, in the order of the request's specs. `channels`: as the flows of
/// the round leave them (channels_under). A probe waits on each channel what it waits in the mean in an M/D/1
/// queue of what flows and other traffic bring there, at most a full queue of 60 KB, which is what it waits
/// where they bring all that the channel carries or more; the lost ones are lost as the flows' packets are.
/// Flows that keep their pace well queue less than that. Nothing where the request asks for no probes.
void simulate_trips(const SimWorld& world, const ChannelStates& channels, PortId from,
                    const datapath::FlowRequest& request, Nanoseconds begin,
                    std::vector<datapath::FlowTally>& tallies);

}  // namespace weft::sim
