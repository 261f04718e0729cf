// LoadedTrip: how long round trips take beside a flow of a load round, and took on the same ways while
// nothing was loaded; the difference is what packets wait in queues on the way. ChannelQueue: where they
// wait. Values beside the observations: a queue is no fault, and a probe that a full queue drops tells no
// more than the flow which fills it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "topology/findings/observation.hpp"

namespace weft {

struct LoadedTrip {
  std::uint32_t round = 0;
  LabelledPair pair;  // the flow's, whose label the probes have
  PathLabel back_label;
  PathSetId path;
  std::optional<PathSetId> back = std::nullopt;  // absent: not known
  Bytes size;                                    // of a probe, from the IP header on
  std::uint32_t sent = 0;
  std::uint32_t answered = 0;
  std::optional<RttQuantiles> loaded = std::nullopt;  // absent: none was answered
  std::optional<RttQuantiles> idle = std::nullopt;    // of the same ways; absent: they were not probed

  /// What the median waits in queues; absent: one of the two is not known. Below zero where it scatters.
  std::optional<Nanoseconds> wait() const {
    return loaded && idle ? std::optional(loaded->p50 - idle->p50) : std::nullopt;
  }
};

/// A packet that crosses this channel waits there so much longer under load, over all rounds that loaded it.
/// Several: it is one of them, or some together, and no trip tells which.
struct ChannelQueue {
  std::vector<ChannelId> channels;
  Nanoseconds wait{};
  Nanoseconds error{};    // standard error
  std::size_t trips = 0;  // that crossed them
};

}  // namespace weft
