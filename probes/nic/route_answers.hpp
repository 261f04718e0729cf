// What the kernel answers over rtnetlink when it is asked for a route or a neighbour (rtnetlink(7)): bytes
// in, values out.
#pragma once

#include <optional>

#include "probes/packet/ethernet.hpp"
#include "topology/base/bytes.hpp"
#include "topology/base/ip.hpp"

namespace weft::nic {

struct RouteAnswer {
  std::optional<IpAddress> gateway = std::nullopt;  // absent: the destination is a neighbour
  int interface = 0;                                // its index; 0: not said
};

/// Errors: absent (the kernel refuses: its errno in words), invalid_input (cut short).
Result<RouteAnswer> decode_route_answer(ByteSpan message);
/// Absent where the kernel refuses, or knows no address of it that may be used.
std::optional<packet::MacAddress> decode_neighbour_answer(ByteSpan message);

}  // namespace weft::nic
