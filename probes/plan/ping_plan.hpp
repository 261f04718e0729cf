// Which labels to ping once the paths are known, and how often: every channel in both directions, by many
// different combinations of a way there and a way back, so that what one channel does to its probes stands
// out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probes/plan/pairs.hpp"
#include "probes/plan/path_learner.hpp"

namespace weft::plan {

/// A label to ping and the way it is known to take; `back` is the way of the answer, absent where it is not
/// known.
struct PlannedPing {
  NicPair pair;
  PathLabel label;
  PathSetId path;
  bool reached = true;
  PathLabel back_label;
  std::optional<PathSetId> back = std::nullopt;
};

/// One ping for every path of every pair, ordered by pair; a path whose peer never answered is pinged too:
/// that shows where its probes end. Ways back are dealt out in turn.
std::vector<PlannedPing> plan_pings(const PathLearner& learner);

/// How many of `pings` cross each channel, there or back; indexed by channel.
std::vector<std::uint32_t> crossings(const Fabric& fabric, const PathTable& table,
                                     const std::vector<PlannedPing>& pings);

/// The pings of `all` that cross `channel` (there or back) and none of `others` where such exist, at most
/// `most`, those with the fewest channels in common with each other first.
std::vector<PlannedPing> pings_over(const PathTable& table, const std::vector<PlannedPing>& all,
                                    ChannelId channel, const std::vector<ChannelId>& others,
                                    std::size_t most);

}  // namespace weft::plan
