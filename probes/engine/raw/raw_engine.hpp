// Engines of one NIC over AF_PACKET sockets. They need CAP_NET_RAW and an Ethernet interface that is up, and
// stay in the network namespace they were opened in, whichever thread uses them. Who may call what when:
// PacketEngine.
#pragma once

#include <memory>

#include "probes/datapath/probe_engine.hpp"
#include "probes/nic/packet_engine.hpp"

namespace weft::raw {

/// An engine for `nic`, which the coordinator calls `self`, in the run of `secrets`; who asks is answered
/// where `nics` has it. Errors: permission (no
/// CAP_NET_RAW), absent (no such interface, it is down, the address is not its own), conflict (UDP 4791 is
/// taken).
Result<std::unique_ptr<nic::PacketEngine>> open_raw_engine(const nic::HostNic& nic,
                                                           const packet::RunSecrets& secrets, PortId self,
                                                           datapath::SharedNics nics);

/// Only traces, for a NIC whose RDMA device takes UDP 4791 itself: neither answers nor needs the port.
Result<std::unique_ptr<datapath::ProbeEngine>> open_raw_tracer(const nic::HostNic& nic,
                                                               const packet::RunSecrets& secrets,
                                                               PortId self);

}  // namespace weft::raw
