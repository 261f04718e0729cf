// RawEngine: probes, flows and the responder of one NIC over AF_PACKET sockets. Needs CAP_NET_RAW and an
// Ethernet interface that is up; it stays in the network namespace it was opened in, whichever thread uses
// it. The responder runs in a thread of its own from opening to destruction; trace, ping and transfer share a
// socket and are for one thread at a time, run for one beside it.
#pragma once

#include <memory>

#include "probes/datapath/flow_engine.hpp"
#include "probes/datapath/probe_engine.hpp"
#include "probes/datapath/responder.hpp"
#include "probes/engine/raw/nic_lookup.hpp"
#include "probes/packet/run_secrets.hpp"

namespace weft::raw {

class RawEngine : public datapath::ProbeEngine, public datapath::FlowEngine {
 public:
  /// Packets that reached this host and were not counted; see ResponderRejects. Any thread.
  virtual datapath::ResponderRejects rejects() const = 0;
};

/// An engine for `nic`, which the coordinator calls `self`, in the run of `secrets`; who asks is answered
/// where `nics` has it. Errors: permission (no
/// CAP_NET_RAW), absent (no such interface, it is down, the address is not its own), conflict (UDP 4791 is
/// taken).
Result<std::unique_ptr<RawEngine>> open_raw_engine(const RawNic& nic, const packet::RunSecrets& secrets,
                                                   PortId self, datapath::SharedNics nics);

/// Only traces, for a NIC whose RDMA device takes UDP 4791 itself: neither answers nor needs the port.
Result<std::unique_ptr<datapath::ProbeEngine>> open_raw_tracer(const RawNic& nic,
                                                               const packet::RunSecrets& secrets,
                                                               PortId self);

}  // namespace weft::raw
