// Which ports of a switch lead to the hosts of each switch: the equal-cost routes of the lab. Paths go up the
// tiers and then down, never down and up again, as the routing of a Clos fabric keeps them (RFC 7938). They
// are those of the fabric as designed: what a failed cable takes away, only its two ends notice.
#pragma once

#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/result.hpp"

namespace weft {
class Fabric;
}

namespace weft::lab {

/// The hosts below one switch, and the ports that lead there.
struct HostRoute {
  NodeId to;                  // a switch with hosts
  std::vector<PortId> ports;  // of the switch asked about, ascending; not empty
  friend bool operator==(const HostRoute&, const HostRoute&) = default;
};

/// Indexed by node: its routes to the hosts of every other switch, in the order of those switches; hosts have
/// none. Error: not_supported when two switches with hosts have no such path, or hosts are joined directly.
Result<std::vector<std::vector<HostRoute>>> host_routes(const Fabric& fabric);

}  // namespace weft::lab
