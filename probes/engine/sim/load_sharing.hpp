// share_load: what is left of flows that run at the same time. Each channel is a first-in-first-out queue
// that drops what it cannot carry, from every flow alike: paced flows that do not yield get shares in
// proportion to what arrives.
#pragma once

#include <span>
#include <vector>

#include "probes/engine/sim/channel_states.hpp"

namespace weft {

struct OfferedFlow {
  std::span<const ChannelId> path;
  Bandwidth rate;
};

/// For each flow the share of it, 0 to 1, that is not dropped for want of capacity. Loss faults are not
/// counted, but the other traffic on a channel takes part.
std::vector<double> share_load(const ChannelStates& channels, std::span<const OfferedFlow> flows);

}  // namespace weft
