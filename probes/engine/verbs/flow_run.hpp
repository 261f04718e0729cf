// One flow request over reliable queue pairs: RDMA writes, each flow paced to its rate, a few messages under
// way.
#pragma once

#include <stop_token>

#include "probes/engine/verbs/qp_set.hpp"
#include "probes/wire/flow_engine.hpp"

namespace weft {

Result<std::vector<FlowTally>> run_flows(const std::shared_ptr<const VerbsDevice>& device,
                                         const BufferFactory& buffers, VerbsTraffic traffic,
                                         PeerExchange& exchange, const FlowRequest& request,
                                         const std::stop_token& stop);

}  // namespace weft
