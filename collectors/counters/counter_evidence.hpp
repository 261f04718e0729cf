// From port counters to evidence about channels. An error counter of the receiving side accuses the channel
// that enters its port; what a port could not send accuses the channel that leaves it. Counts are weighed
// against what a healthy link of that rate makes, so that the same count means more on a slower or shorter
// look.
#pragma once

#include <string>
#include <vector>

#include "collectors/counters/counter_reading.hpp"
#include "topology/findings/counter_weight.hpp"
#include "topology/findings/observation.hpp"

namespace weft::counters {

/// What the counters of `after` say, and the steps since `before`. Without `before`, or for what had been
/// counted by then, a count is taken as made within kUnknownWindow.
inline constexpr Nanoseconds kUnknownWindow = std::chrono::hours(1);
std::vector<ChannelEvidence> counter_evidence(const InfinibandFabric& fabric, const CounterReading* before,
                                              const CounterReading& after);

}  // namespace weft::counters
