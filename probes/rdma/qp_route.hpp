// The way from a queue pair to another: what its device must be told of it.
#pragma once

#include <optional>

#include "probes/rdma/verbs_device.hpp"
#include "topology/model/path.hpp"

namespace weft {

/// Which queue a packet takes in every switch.
struct VerbsTraffic {
  std::uint8_t traffic_class = 0;
  std::uint8_t service_level = 0;
};

/// The far end, and how to get there.
struct QpRoute {
  PortAddress to;
  QpNum qp;
  std::uint32_t first_psn = 0;  // of what comes from there, where connected
  std::uint32_t queue_key = 0;  // that it takes datagrams with
  /// RoCE: the UDP source port; InfiniBand: the DLID, of which only the path bits are ours. Absent: the
  /// device chooses.
  std::optional<PathLabel> label;
  std::optional<PathLabel> back_label;  // of what the far end sends us
  VerbsTraffic traffic;
  Bytes mtu = Bytes(1024);
  ReadLimits reads = {};  // agreed with the far end
  /// 4.096 us * 2^this until a packet counts as lost (ibv_modify_qp(3)).
  std::uint8_t timeout_exponent = 14;
};

/// Error: invalid_input (a label that is no UDP port; InfiniBand: none of the port's LIDs).
Result<ibv_ah_attr> address_vector(const VerbsDevice& device, const QpRoute& route);

}  // namespace weft
