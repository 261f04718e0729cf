// From port counters to what they say of channels. An error counter of the receiving side is a count on the
// channel that enters its port; what a port could not send accuses the channel that leaves it. Events (a link
// that went down, trained anew, overran) are signs, capped.
#pragma once

#include <string>
#include <vector>

#include "collectors/counters/counter_reading.hpp"
#include "topology/findings/observation.hpp"

namespace weft::counters {

struct PortEvidence {
  std::vector<ChannelCount> counts;
  std::vector<ChannelEvidence> channels;
};

/// What the counters of `after` say, and the steps since `before`. Without `before`, or for what had been
/// counted by then, a count is taken as made within kUnknownWindow, in which the link came up; that there is
/// none says nothing then.
inline constexpr Nanoseconds kUnknownWindow = std::chrono::hours(1);
PortEvidence counter_evidence(const InfinibandFabric& fabric, const CounterReading* before,
                              const CounterReading& after);

}  // namespace weft::counters
