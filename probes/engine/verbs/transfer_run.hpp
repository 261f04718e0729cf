// One transfer request over reliable queue pairs, one a spec: each delivers its number of packets, every one
// an RDMA write of its own that the peer's device acknowledges. What is lost the devices send again.
#pragma once

#include <stop_token>

#include "probes/datapath/flow_engine.hpp"
#include "probes/engine/verbs/qp_set.hpp"

namespace weft::verbs {

/// A spec whose queue pair the peer refuses, breaks, or takes no more work, delivers less and says why.
/// Errors: usage (a request that makes no sense), what our own device refused as the queue pairs were made.
Result<std::vector<datapath::TransferTally>> run_transfers(
    const std::shared_ptr<const rdma::VerbsDevice>& device, const packet::BufferFactory& buffers,
    rdma::VerbsTraffic traffic, const PeerAccess& access, const datapath::TransferRequest& request,
    const std::stop_token& stop);

}  // namespace weft::verbs
