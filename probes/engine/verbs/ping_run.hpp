// One ping request over queue pairs, connected ones for each spec or one of datagrams for each peer: sends at
// the request's pace, takes the echoes.
#pragma once

#include <stop_token>

#include "probes/datapath/probe_engine.hpp"
#include "probes/engine/verbs/qp_set.hpp"

namespace weft::verbs {

Result<std::vector<datapath::PingTally>> run_pings(const std::shared_ptr<const rdma::VerbsDevice>& device,
                                                   rdma::QpKind kind, const packet::BufferFactory& buffers,
                                                   rdma::VerbsTraffic traffic, const PeerAccess& access,
                                                   const datapath::PingRequest& request,
                                                   const std::stop_token& stop);

}  // namespace weft::verbs
