// Which of several paths a flow took, by what it lost. A flow whose label fixes its path takes one of them,
// and what one channel loses shows in the flows that crossed it and in no others.
#pragma once

#include <cstdint>
#include <vector>

#include "probes/diagnosis/counts/count_problem.hpp"

namespace weft::diagnosis {

/// What a channel is known to lose. What a finding tells of several channels, one of which it is, counts once
/// on a path.
struct FlowLoss {
  double share = 0;  // of packets
  Bytes passes{-1};  // packets up to this size are not lost
  std::uint32_t finding = 0;
  bool one_of = false;  // it, or another of the finding's channels
};

/// Narrows the sets of paths of observations to the paths that fit what was lost; those stay as they are that
/// fit best when their packets are spread over all paths. True: something changed.
bool narrow_paths(Observations& observations, Counted counted, const std::vector<FlowLoss>& by_channel);

}  // namespace weft::diagnosis
