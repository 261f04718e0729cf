// What traces tell of single channels: those that no flow took although many could have, as a down link looks
// to those who hash over the rest; and those that an answer proves to pass packets, short of where a way
// ends.
#pragma once

#include <vector>

#include "probes/pathmap/path_learner.hpp"

namespace weft {

struct Sight {
  std::uint32_t seen = 0;     // flows that crossed the channel: what comes behind it answered
  std::uint32_t chances = 0;  // flows that came by its near end, and for which it was an equal next hop
  std::uint32_t ended = 0;    // of these, those of which nothing was seen behind the near end
  double expected = 0;        // flows of these that take it, if all next hops are equally likely
  /// ln of the probability that no more flows take it than ended, by Chernoff's bound. 0: no chances.
  double log_missed() const;
};

/// Indexed by channel. Of a route that is a set of paths counts what all of them begin with.
std::vector<Sight> sights(const Fabric& fabric, PathLearner& learner);

/// Channels in a row that a switch's answer to a probe crossed, there (`out`) or back, at least one of the
/// two; of those on no route whose peer answered, for these routes tell of all others.
struct AnsweredWay {
  std::vector<ChannelId> out, back;
  std::uint32_t answers = 0;
};
std::vector<AnsweredWay> answered_ways(const Fabric& fabric, PathLearner& learner);

}  // namespace weft
