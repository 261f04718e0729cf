// HostStall: a host that is not scheduled for a while, in the words of `weft simulate --stall`.
#pragma once

#include <string_view>

#include "topology/model/fabric.hpp"

namespace weft {

/// A host that is not scheduled for a while, from `start` on the simulator's clock: it reads nothing and
/// sends no flows. What arrives beyond the first moments' worth is dropped, and counted as dropped by the
/// host.
struct HostStall {
  NodeId host;
  Nanoseconds start{};
  Nanoseconds length{};
  friend bool operator==(const HostStall&, const HostStall&) = default;
};

/// 'HOST:at=TIME,for=TIME', as in host3:at=2s,for=300ms.
Result<HostStall> parse_stall(const Fabric& fabric, std::string_view text);

}  // namespace weft
