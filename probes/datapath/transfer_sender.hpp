// TransferSender: the transfers of a FlowEngine over any PacketPort. Every packet is acknowledged by the
// peer's responder, one by one, under a sequence number of its own; what is taken for lost is sent again
// under a new one, and a QP is through when as many were acknowledged as it has to deliver. There is a fixed
// window and no congestion control: what shares a link gets equal parts of it, as windows are equal and the
// queue there is most of the round trip. One thread at a time; blocks until all is delivered or the limit is
// over.
#pragma once

#include "probes/datapath/flow_engine.hpp"
#include "probes/datapath/packet_port.hpp"
#include "probes/packet/run_secrets.hpp"

namespace weft::datapath {

class TransferSender {
 public:
  /// All references outlive the sender; `self` is the coordinator's id of the NIC. `port` receives echoes.
  TransferSender(PacketPort& port, NextHops& next_hops, const LocalNic& nic,
                 const packet::RunSecrets& secrets, PortId self)
      : port_(port), next_hops_(next_hops), nic_(nic), secrets_(secrets), self_(self) {}

  /// A QP whose peer cannot be reached, or whose packets the NIC does not take, delivers nothing.
  Result<std::vector<TransferTally>> run(const TransferRequest& request, std::stop_token stop);

 private:
  PacketPort& port_;
  NextHops& next_hops_;
  const LocalNic& nic_;
  const packet::RunSecrets& secrets_;
  PortId self_;
};

}  // namespace weft::datapath
