// Prober: trace and ping of a ProbeEngine over any PacketPort. Checks a request, finds the next hops, runs
// the exchange and gives what it learnt. One thread at a time; blocks for as long as the request's pace, its
// answer waits and five seconds at most.
#pragma once

#include "probes/datapath/exchange.hpp"

namespace weft::datapath {

class Prober {
 public:
  /// All references outlive the prober; `self` is the coordinator's id of the NIC.
  Prober(PacketPort& port, NextHops& next_hops, const LocalNic& nic, const packet::RunSecrets& secrets,
         PortId self)
      : context_{port, nic, secrets, self}, next_hops_(next_hops) {}

  Result<std::vector<HopAnswer>> trace(const TraceRequest& request, std::stop_token stop);
  /// A spec whose size the NIC does not take, or whose peer has no next hop, has sent 0. `waits_for_silent`:
  /// kMaxLate longer for a peer that fell silent; beside flows queues may have taken its echoes.
  Result<std::vector<PingTally>> ping(const PingRequest& request, std::stop_token stop,
                                      bool waits_for_silent = true);

 private:
  ExchangeContext context_;
  NextHops& next_hops_;
};

}  // namespace weft::datapath
