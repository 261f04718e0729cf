// What is wrong with the hosts of a run before any packet is sent: each inventory against what the fabric
// says, what the device itself can, and what most hosts of the run have. Pure. What a host did not tell is no
// fault.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/units.hpp"
#include "topology/findings/host_inventory.hpp"
#include "topology/findings/observation.hpp"

namespace weft {
class Fabric;
}

namespace weft::diagnosis {

/// A NIC of the fabric by the interface (or RDMA device) that serves it.
struct ServedNic {
  PortId nic;
  std::string interface;
};
struct JoinedHost {
  NodeId host;
  std::vector<ServedNic> nics;
  HostInventory inventory;
};

struct HostExpectations {
  std::optional<Bytes> mtu = std::nullopt;  // of the NICs that serve the fabric; absent: what most have
};

/// By host, then NIC. Verdicts: failed for what keeps a NIC or GPU from taking part, else degraded.
std::vector<HostEvidence> check_hosts(const Fabric& fabric, const std::vector<JoinedHost>& hosts,
                                      const HostExpectations& expectations);

/// The checks that need no other host and no fabric, in words: for one host alone.
std::vector<std::string> check_alone(const HostInventory& inventory);

}  // namespace weft::diagnosis
