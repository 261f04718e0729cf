// Which kind of queue pair probes go by: datagrams (UD), one queue pair for all labels, where the device
// takes the label from the address handle of each; else unreliable connections (UC), one queue pair a label.
// Pure.
#pragma once

#include <string>

#include "probes/datapath/probe_transport.hpp"
#include "probes/rdma/queue_pair.hpp"

namespace weft {

/// By itself a device sends datagrams where it is known to label them: InfiniBand (the path bits are the
/// handle's), and ConnectX (libmlx5 makes the UDP source port of the handle's flow label:
/// mlx5_ah_set_udp_sport). Of others the operator must know. Error: not_supported (soft-RoCE, whose datagrams
/// have the port of their queue pair's number, rxe_qp_init_req, whatever the handle says).
Result<QpKind> choose_probe_kind(ProbeTransport wish, const std::string& device, RdmaDriver driver,
                                 bool is_infiniband);

}  // namespace weft
