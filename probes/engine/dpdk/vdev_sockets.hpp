// VdevSockets: the packet sockets that DPDK's net_af_packet driver opened for one device. The driver shows
// neither what they drop nor whether something came, and leaves frames in its ring when the kernel takes
// none: the sockets themselves tell. They are the driver's; nothing is closed here.
#pragma once

#include <atomic>
#include <set>
#include <vector>

#include "probes/nic/nic_lookup.hpp"

namespace weft::dpdk {

/// The sockets with rings (TPACKET_V2) that this process has.
std::set<int> ring_sockets();

class VdevSockets {
 public:
  /// Those that are there now, are not among `before`, and are bound to the NIC's interface. They hand on
  /// what is meant for an engine alone, and nothing that this host itself sends. Error: internal (none was
  /// opened).
  static Result<VdevSockets> adopt(const std::set<int>& before, const nic::HostNic& nic,
                                   const nic::KernelNic& kernel);

  const std::vector<int>& descriptors() const { return descriptors_; }
  /// Frames that found no place in a ring, since the last call.
  std::uint64_t take_drops() const;
  /// Hands the kernel what is left in the rings. True when nothing is; an error where the interface takes
  /// none.
  Result<bool> flush() const;
  /// What is wrong with a socket, since the last call: its interface is down or gone.
  Result<void> check() const;

 private:
  VdevSockets(std::vector<int> descriptors, std::string interface)
      : descriptors_(std::move(descriptors)), interface_(std::move(interface)) {}
  std::vector<int> descriptors_;
  std::string interface_;
};

}  // namespace weft::dpdk
