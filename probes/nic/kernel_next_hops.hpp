// KernelNextHops: asks this host's kernel (rtnetlink) which gateway a packet of this NIC goes to and which
// MAC address that has; where the kernel does not know yet, an empty datagram to the gateway makes it ask.
// Starts no process. Needs no privilege. One thread at a time.
#pragma once

#include <optional>

#include "probes/nic/nic_lookup.hpp"
#include "probes/nic/route_answers.hpp"

namespace weft::nic {

class KernelNextHops : public datapath::NextHops {
 public:
  static Result<KernelNextHops> open(const HostNic& nic, const KernelNic& kernel);
  /// Waits a second at most.
  Result<packet::MacAddress> next_hop(const IpAddress& destination) override;

 private:
  KernelNextHops(os::FileDescriptor netlink, os::FileDescriptor nudge, HostNic nic, int index)
      : netlink_(std::move(netlink)), nudge_(std::move(nudge)), nic_(std::move(nic)), index_(index) {}
  /// The route that packets from this NIC's address take; `through_nic`: if they had to leave by it.
  Result<RouteAnswer> ask_route(const IpAddress& destination, bool through_nic);
  Result<IpAddress> gateway_to(const IpAddress& destination);
  std::optional<packet::MacAddress> neighbour(const IpAddress& address);

  os::FileDescriptor netlink_;
  os::FileDescriptor nudge_;
  HostNic nic_;
  int index_;
};

}  // namespace weft::nic
