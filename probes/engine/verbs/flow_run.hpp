// One flow request over reliable queue pairs, one a spec: writes, reads or sends, each flow paced to its
// rate, so many messages under way as the request says.
#pragma once

#include <stop_token>

#include "probes/datapath/flow_engine.hpp"
#include "probes/engine/verbs/qp_set.hpp"

namespace weft::verbs {

Result<std::vector<datapath::FlowTally>> run_flows(const std::shared_ptr<const rdma::VerbsDevice>& device,
                                                   const packet::BufferFactory& buffers,
                                                   rdma::VerbsTraffic traffic, const PeerAccess& access,
                                                   const datapath::FlowRequest& request,
                                                   const std::stop_token& stop);

}  // namespace weft::verbs
