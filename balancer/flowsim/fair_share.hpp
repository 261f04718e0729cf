// Max-min fair sharing of channels by streams whose routes are given, and how long they take to send what
// they have: a fluid model, no packets, no queues. Each stream gets as much as it can without taking from one
// that has less (Bertsekas and Gallager, Data Networks, 6.5.2). Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/base/ids.hpp"

namespace weft::flowsim {

/// A stream of fluid: one QP over one route, or a flow sprayed over several (then each channel carries a
/// share).
struct Stream {
  struct Use {
    ChannelId channel;
    double share = 1;  // of the stream's rate, above 0
  };
  double bytes = 0;
  std::vector<Use> uses;  // each channel once
};

/// Seconds until each stream has sent its bytes, all starting at once, shares worked out anew whenever one
/// ends. Streams that end within `resolution` (a share of the time passed) of each other end together: 0 is
/// exact, more is quicker. A stream that gets nothing: infinity. `capacity`: bytes per second, indexed by
/// channel.
std::vector<double> completion_times(std::span<const Stream> streams, std::span<const double> capacity,
                                     double resolution = 0);

}  // namespace weft::flowsim
