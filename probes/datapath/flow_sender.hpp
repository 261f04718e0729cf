// FlowSender: the flows of a FlowEngine over any PacketPort: probe frames of real size, every flow at its own
// pace, a few packets at a time so that a shaped queue is never flooded. One thread at a time; blocks for the
// request's duration.
#pragma once

#include "probes/datapath/flow_engine.hpp"
#include "probes/datapath/packet_port.hpp"
#include "probes/packet/run_secrets.hpp"

namespace weft::datapath {

class FlowSender {
 public:
  /// All references outlive the sender; `self` is the coordinator's id of the NIC.
  FlowSender(PacketPort& port, NextHops& next_hops, const LocalNic& nic, const packet::RunSecrets& secrets,
             PortId self)
      : port_(port), next_hops_(next_hops), nic_(nic), secrets_(secrets), self_(self) {}

  /// One tally for each spec, in their order; one that could not be sent at all has no packets.
  Result<std::vector<FlowTally>> run(const FlowRequest& request, std::stop_token stop);

 private:
  PacketPort& port_;
  NextHops& next_hops_;
  const LocalNic& nic_;
  const packet::RunSecrets& secrets_;
  PortId self_;
};

}  // namespace weft::datapath
