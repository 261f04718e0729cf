// PacketEngine: probes, flows and the responder of one NIC over three packet ports, whatever sends the
// frames: what the raw and the DPDK engine share. It holds UDP 4791 and asks the kernel for next hops. The
// responder runs in a thread of its own from opening to destruction; trace, ping and transfer share the
// prober's port and are for one thread at a time, and so is run, which sends probes beside its flows where it
// is asked to.
#pragma once

#include <memory>

#include "probes/datapath/flow_engine.hpp"
#include "probes/datapath/probe_engine.hpp"
#include "probes/datapath/responder.hpp"
#include "probes/nic/nic_lookup.hpp"
#include "probes/packet/run_secrets.hpp"

namespace weft::nic {

class PacketEngine : public datapath::ProbeEngine, public datapath::FlowEngine {
 public:
  /// Packets that reached this host and were not counted; see ResponderRejects. Any thread.
  virtual datapath::ResponderRejects rejects() const = 0;
};

/// What frames go and come by. Each is used by one thread at a time.
struct PacketPorts {
  std::unique_ptr<datapath::PacketPort> prober;     // takes echoes and "hops ran out"
  std::unique_ptr<datapath::PacketPort> sender;     // takes nothing
  std::unique_ptr<datapath::PacketPort> responder;  // takes probes and flow packets
};

/// An engine for `nic`, which the coordinator calls `self`, in the run of `secrets`; who asks is answered
/// where `nics` has it. Errors: conflict (UDP 4791 is taken), absent (the address is not this host's, no
/// sockets).
Result<std::unique_ptr<PacketEngine>> make_packet_engine(const HostNic& nic, const KernelNic& kernel,
                                                         PacketPorts ports, const packet::RunSecrets& secrets,
                                                         PortId self, datapath::SharedNics nics);

}  // namespace weft::nic
