// Which streams of a plan cross a link, over which path, and what became of their probes: for who looks at
// the link. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "probes/watch/path_sums.hpp"

namespace weft::watch {

struct StreamOver {
  PathLabel label;
  std::vector<ChannelId> channels;  // from NIC to NIC; one of the paths that it may take over the link
  std::uint64_t sent = 0;           // probes of the stream, or echoes of them where it is the way back
  std::uint64_t lost = 0;           // of these on this way, or on one of both that is not known
  friend bool operator==(const StreamOver&, const StreamOver&) = default;
};

/// Both ways of each stream count by themselves. Those that lost most first, at most `most`.
std::vector<StreamOver> streams_over(const StandingPlan& plan, const ScaleSums& sums, LinkId link,
                                     std::size_t most);

}  // namespace weft::watch
