// Whether packets of full size come through from a NIC of this host to another: an ICMP echo of few bytes,
// and one as large as the interface's MTU that may not be fragmented.
#pragma once

#include "topology/base/ip.hpp"
#include "topology/base/result.hpp"
#include "topology/base/units.hpp"
#include "topology/findings/host_facts.hpp"

namespace weft::host {

/// Waits at most half a second for each size. Error: permission (no socket for ICMP), absent (no such address
/// here).
Result<PathToNic> try_path(const IpAddress& from, const IpAddress& to, Bytes mtu);

}  // namespace weft::host
