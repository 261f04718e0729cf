// What traces tell of single channels: those that no flow took although many could have, as a down link looks
// to those who hash over the rest; and those that an answer proves to pass packets.
#pragma once

#include <vector>

#include "probes/plan/path_learner.hpp"

namespace weft::plan {

struct Sight {
  std::uint32_t seen = 0;     // flows that crossed the channel: what comes behind it answered
  std::uint32_t chances = 0;  // flows that came by its near end, and for which it was an equal next hop
  std::uint32_t ended = 0;    // of these, those that may have taken it: it is not known where they went on
  double expected = 0;        // flows of these that take it, if all next hops are equally likely
  /// ln of the probability that no more flows take it than ended, by Chernoff's bound. 0: no chances.
  double log_missed() const;
};

/// Indexed by channel. Of a route that is a set of paths counts what all of them begin with.
std::vector<Sight> sights(const Fabric& fabric, PathLearner& learner);

/// What switches were asked for over a channel, there or back, and what of it came; of each trace up to the
/// first that came.
struct Answers {
  std::uint32_t asked = 0, came = 0;
};

/// Indexed by channel. None of those on a route whose peer answered, for its probes tell more. Where a trace
/// went after the last switch that answered is not known: nothing is counted as asked for from there on.
std::vector<Answers> answers_over(const Fabric& fabric, PathLearner& learner);

}  // namespace weft::plan
