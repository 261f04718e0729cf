// How a RoCEv2 device makes the UDP source port, the path label, from a GRH flow label, and the way back.
// Pure.
#pragma once

#include <cstdint>

#include "topology/base/ids.hpp"

namespace weft {

/// ibv_flow_label_to_udp_sport (libibverbs, verbs.h): 0xC000 and above. Several flow labels give one port. A
/// flow label of 0 means that the device chooses: see default_flow_label.
UdpPort udp_port_of(std::uint32_t flow_label);

/// A 20-bit flow label, never 0, that gives `port`; ports below 0xC000 are not reached by any and give the
/// one that shares their low 14 bits.
std::uint32_t flow_label_for(UdpPort port);

/// What the kernel takes for a queue pair whose flow label is 0 (rdma_calc_flow_label, ib_verbs.h).
std::uint32_t default_flow_label(QpNum local, QpNum remote);

}  // namespace weft
