// Load rounds: sets of flows that run at the same time, each at the full rate of its path, no two over one
// channel, so that each flow has a right to its rate and what it does not get tells of a channel.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "probes/plan/pairs.hpp"
#include "probes/plan/path_learner.hpp"
#include "topology/findings/observation.hpp"

namespace weft::plan {

struct PlannedFlow {
  NicPair pair;
  PathLabel label;
  PathSetId path;
  Bandwidth rate;  // it offers: all, or a share, of what the slowest link of the path has by design
  friend bool operator==(const PlannedFlow&, const PlannedFlow&) = default;
};

using LoadRound = std::vector<PlannedFlow>;

/// Rounds that load every channel some reached route crosses at least `times` times, with different flows
/// where there are, at most `most_rounds`: more only, three times as many at most, until every one was loaded
/// once. Deterministic by seed.
std::vector<LoadRound> plan_load_rounds(const Fabric& fabric, const PathLearner& learner, std::uint32_t times,
                                        std::size_t most_rounds, std::uint64_t seed);

/// Of `channels` those that some reached route of one known path crosses, and no flow of the rounds.
std::size_t channels_left_out(const PathLearner& learner, const std::vector<LoadRound>& rounds,
                              const std::vector<ChannelId>& channels);

/// What the flows of the rounds that press a channel offer, as shares of what they have a right to: a round
/// each.
struct Press {
  std::vector<double> alone;     // by one flow
  std::vector<double> together;  // by each of two
};

/// Flows over single channels, by paths that cross as few of the channels to avoid as can be. Looks through
/// the learner once for all the channels it is asked about.
class PressPlanner {
 public:
  /// Those two must outlive this. `channels`: that will be asked for. `avoid`: held under suspicion.
  PressPlanner(const Fabric& fabric, const PathLearner& learner, const std::set<ChannelId>& channels,
               const std::set<ChannelId>& avoid);

  /// Rounds that press one channel: with a single flow over it, then with two flows of different NICs that
  /// share as few other channels as can be; different flows in each round where there are so many.
  std::vector<LoadRound> rounds(ChannelId channel, const Press& press) const;
  /// True when some path crosses the channel and, besides, none of those to avoid.
  bool can_isolate(ChannelId channel) const;

 private:
  struct Choice {
    PlannedFlow flow;
    std::size_t avoidable = 0;  // channels to avoid that it crosses, but for the one it is for
  };
  const PathLearner* learner_;
  std::map<ChannelId, std::vector<Choice>> over_;  // one a pair, those with the fewest to avoid
};

/// The channels that the rounds were to load and that no flow seen has loaded: its sender was held back, or
/// nobody could say what arrived. Ascending.
std::vector<ChannelId> channels_not_loaded(const PathTable& table, const std::vector<LoadRound>& rounds,
                                           const std::vector<LoadObservation>& seen);

/// Of the rounds, the flows over any of the channels (ascending), a round each.
std::vector<LoadRound> rounds_over(const PathTable& table, const std::vector<LoadRound>& rounds,
                                   const std::vector<ChannelId>& channels);

/// The same rounds, those that share no channel put into one, in order of first fit.
std::vector<LoadRound> merge_rounds(const PathTable& table, const std::vector<LoadRound>& rounds);

}  // namespace weft::plan
