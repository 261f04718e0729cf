#include "probes/plan/pattern_plan.hpp"

#include <algorithm>
#include <map>
#include <random>

#include "topology/model/fabric.hpp"

namespace weft::plan {
namespace {

constexpr int kMaxTurns = 16;  // of choosing again; a few suffice where there is room for all

class PatternPlanner {
 public:
  PatternPlanner(const Fabric& fabric, const PathLearner& learner, LabelChoice labels, std::mt19937_64 random)
      : fabric_(fabric), learner_(learner), labels_(labels), random_(random) {}

  LoadRound round(std::span<const NicPair> pairs) {
    flows_.assign(fabric_.channel_count(), 0);
    std::vector<Flow> flows;
    for (const NicPair& pair : pairs)
      if (auto routes = usable_routes(pair); !routes.empty()) {
        const Route* route =
            labels_ == LabelChoice::assigned ? emptiest_of(routes) : routes[random_() % routes.size()];
        add(*route, 1);
        flows.push_back({pair, std::move(routes), route});
      }
    if (labels_ == LabelChoice::assigned) choose_again(flows);
    LoadRound round;
    for (const Flow& flow : flows)
      round.push_back({flow.pair, flow.route->label, flow.route->paths, right_of(*flow.route)});
    return round;
  }

 private:
  struct Flow {
    NicPair pair;
    std::vector<const Route*> routes;  // known to one path each
    const Route* route;                // the one chosen
  };

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

  void add(const Route& route, std::int32_t flows) {
    for (const ChannelId channel : channels(route)) flows_[channel.value()] += flows;
  }

  /// Of a route's channels between switches, the busiest: its flows of the round.
  std::int32_t busiest(const Route& route) const {
    std::int32_t most = 0;
    for (const ChannelId channel : channels(route))
      if (fabric_.between_switches(channel)) most = std::max(most, flows_[channel.value()]);
    return most;
  }

  /// One of those whose busiest channel has the fewest flows of the round.
  const Route* emptiest_of(const std::vector<const Route*>& routes) {
    std::vector<const Route*> best;
    std::int32_t fewest = 0;
    for (const Route* route : routes) {
      const std::int32_t flows = busiest(*route);
      if (best.empty() || flows < fewest) best.clear(), fewest = flows;
      if (flows == fewest) best.push_back(route);
    }
    return best[random_() % best.size()];
  }

  /// Flows beyond the first of each channel between switches.
  std::int32_t shared() const {
    std::int32_t sum = 0;
    for (std::uint32_t c = 0; c < flows_.size(); ++c)
      if (fabric_.between_switches(ChannelId(c))) sum += std::max(flows_[c] - 1, 0);
    return sum;
  }

  /// The first ones chose before the last stood: all choose again in turn, and what shares the least is kept.
  void choose_again(std::vector<Flow>& flows) {
    std::vector<Flow> best = flows;
    std::int32_t least = shared();
    for (int turn = 0; least > 0 && turn < kMaxTurns; ++turn) {
      for (Flow& flow : flows) {
        add(*flow.route, -1);
        flow.route = emptiest_of(flow.routes);
        add(*flow.route, 1);
      }
      if (const std::int32_t now = shared(); now < least) best = flows, least = now;
    }
    for (const Flow& flow : flows) add(*flow.route, -1);
    flows = std::move(best);
    for (const Flow& flow : flows) add(*flow.route, 1);
  }

  Bandwidth right_of(const Route& route) const {
    const auto path = channels(route);
    Bandwidth right = fabric_.rate(path[0]);
    for (const ChannelId channel : path)
      right = std::min(right, fabric_.rate(channel) * (1.0 / flows_[channel.value()]));
    return right;
  }

  const Fabric& fabric_;
  const PathLearner& learner_;
  const LabelChoice labels_;
  std::mt19937_64 random_;
  std::vector<std::int32_t> flows_;  // of the round, by channel
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
