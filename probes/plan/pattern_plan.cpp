#include "probes/plan/pattern_plan.hpp"

#include <algorithm>
#include <map>
#include <random>

#include "topology/model/fabric.hpp"

namespace weft::plan {
namespace {

class PatternPlanner {
 public:
  PatternPlanner(const Fabric& fabric, const PathLearner& learner, LabelChoice labels, std::mt19937_64 random)
      : fabric_(fabric), learner_(learner), labels_(labels), random_(random) {}

  LoadRound round(std::span<const NicPair> pairs) {
    flows_.assign(fabric_.channel_count(), 0);
    LoadRound round;
    for (const NicPair& pair : pairs)
      if (const Route* route = labels_ == LabelChoice::assigned ? emptiest_route(pair) : any_route(pair)) {
        for (const ChannelId channel : channels(*route)) ++flows_[channel.value()];
        round.push_back({pair, route->label, route->paths, Bandwidth()});
      }
    for (PlannedFlow& flow : round) flow.rate = right_of(flow);
    return round;
  }

 private:
  std::span<const ChannelId> channels(const Route& route) const {
    return learner_.table().channels(learner_.table().paths(route.paths)[0]);
  }

  std::vector<const Route*> usable_routes(const NicPair& pair) const {
    std::vector<const Route*> usable;
    if (const PairRoutes* known = learner_.find(pair.src, pair.dst))
      for (const Route& route : known->routes)
        if (route.reached && learner_.table().paths(route.paths).size() == 1) usable.push_back(&route);
    return usable;
  }

  const Route* any_route(const NicPair& pair) {
    const auto usable = usable_routes(pair);
    return usable.empty() ? nullptr : usable[random_() % usable.size()];
  }

  /// The route whose busiest channel has the fewest flows of the round yet.
  const Route* emptiest_route(const NicPair& pair) const {
    const Route* best = nullptr;
    std::uint32_t fewest = 0;
    for (const Route* route : usable_routes(pair)) {
      std::uint32_t most = 0;
      for (const ChannelId channel : channels(*route))
        if (fabric_.between_switches(channel)) most = std::max(most, flows_[channel.value()]);
      if (best == nullptr || most < fewest) best = route, fewest = most;
    }
    return best;
  }

  Bandwidth right_of(const PlannedFlow& flow) const {
    const auto path = learner_.table().channels(learner_.table().paths(flow.path)[0]);
    Bandwidth right = fabric_.rate(path[0]);
    for (const ChannelId channel : path)
      right = std::min(right, fabric_.rate(channel) * (1.0 / flows_[channel.value()]));
    return right;
  }

  const Fabric& fabric_;
  const PathLearner& learner_;
  const LabelChoice labels_;
  std::mt19937_64 random_;
  std::vector<std::uint32_t> flows_;  // of the round, by channel
};

/// The pairs of each round of an incast: by receiver.
std::vector<std::vector<NicPair>> by_receiver(const PathLearner& learner) {
  std::map<PortId, std::vector<NicPair>> groups;
  for (const PairRoutes& pair : learner.pairs()) groups[pair.dst].push_back({pair.src, pair.dst});
  std::vector<std::vector<NicPair>> rounds;
  for (auto& [receiver, pairs] : groups) rounds.push_back(std::move(pairs));
  return rounds;
}

/// The pairs of each round of all-pairs: a NIC and the one that stands so many places behind it, in turn.
std::vector<std::vector<NicPair>> by_distance(const PathLearner& learner) {
  std::map<PortId, std::size_t> place;
  for (const PairRoutes& pair : learner.pairs()) place[pair.src] = place[pair.dst] = 0;
  std::size_t nics = 0;
  for (auto& [nic, at] : place) at = nics++;
  std::map<std::size_t, std::vector<NicPair>> groups;
  for (const PairRoutes& pair : learner.pairs())
    groups[(place[pair.dst] + nics - place[pair.src]) % nics].push_back({pair.src, pair.dst});
  std::vector<std::vector<NicPair>> rounds;
  for (auto& [distance, pairs] : groups) rounds.push_back(std::move(pairs));
  return rounds;
}

}  // namespace

std::vector<NicPair> pattern_pairs(const Fabric& fabric, LoadPattern pattern,
                                   const std::vector<PortId>& without) {
  std::vector<NicPair> pairs;
  if (pattern == LoadPattern::links || fabric.nics().size() > kMaxPatternNics) return pairs;
  const auto takes_part = [&](PortId nic) {
    return std::ranges::find(without, nic) == without.end() &&
           !fabric.is_host(routing::edge_switch(fabric, nic));
  };
  for (const PortId src : fabric.nics())
    for (const PortId dst : fabric.nics())
      if (src != dst && takes_part(src) && takes_part(dst)) pairs.push_back({src, dst});
  return pairs;
}

std::vector<LoadRound> plan_pattern_rounds(const Fabric& fabric, const PathLearner& learner,
                                           LoadPattern pattern, std::size_t most_rounds, std::uint64_t seed,
                                           LabelChoice labels) {
  std::vector<std::vector<NicPair>> groups;
  switch (pattern) {
    case LoadPattern::links:
      break;
    case LoadPattern::incast:
      groups = by_receiver(learner);
      break;
    case LoadPattern::all_pairs:
      groups = by_distance(learner);
      break;
  }
  std::mt19937_64 random(seed);
  std::ranges::shuffle(groups, random);
  PatternPlanner planner(fabric, learner, labels, random);
  std::vector<LoadRound> rounds;
  for (const auto& pairs : groups) {
    if (rounds.size() == most_rounds) break;
    if (auto round = planner.round(pairs); !round.empty()) rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace weft::plan
