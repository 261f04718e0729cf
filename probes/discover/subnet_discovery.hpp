// Discovers an InfiniBand subnet by directed-route packets from our own port: nodes by GUID, ports, cables,
// LIDs. Each link is asked once where that can be known. What does not answer is left out with a remark.
#pragma once

#include <set>
#include <unordered_map>

#include "probes/mad/mad_exchange.hpp"
#include "topology/model/ib_subnet.hpp"

namespace weft::discover {

/// How each node was reached, and what else a scan leaves for those who ask on.
struct SubnetRoutes {
  std::unordered_map<Guid, mad::DirectedRoute> to;    // by node GUID
  std::unordered_map<Guid, std::uint16_t> table_top;  // switches: SwitchInfo.LinearFDBTop
  Guid own_node;
  std::uint8_t own_port = 0;
};

struct SubnetDiscovery {
  IbSubnet subnet;
  SubnetRoutes routes;
  mad::MadTally tally;
  std::optional<Lid> sm_lid = std::nullopt;  // as our own port knows it; absent: no subnet manager yet
  /// Ports that did not say how they are, so that a cable or a disabled port there may be missing.
  std::set<std::pair<Guid, std::uint8_t>> unread = {};
};

/// Scans, then looks whether the LIDs are still those read: when a subnet manager changed them meanwhile it
/// scans again, up to `kMaxScans` times, and says so in a remark.
inline constexpr int kMaxScans = 3;
Result<SubnetDiscovery> discover_subnet(mad::Mads& mads, const mad::MadLimits& limits = {},
                                        std::stop_token stop = {});

}  // namespace weft::discover
