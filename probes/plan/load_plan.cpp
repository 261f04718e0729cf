#include "probes/plan/load_plan.hpp"

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "topology/model/fabric.hpp"

namespace weft::plan {
namespace {

/// A reached route over one known path, by place in the learner.
struct Candidate {
  std::uint32_t pair;
  std::uint32_t route;
};

/// So many candidates of a channel are tried in a round before the channel waits for the next.
constexpr std::size_t kMaxTries = 256;
/// So many times the rounds that were asked for may be run until each channel was loaded once.
constexpr std::size_t kMaxForCoverage = 3;

class RoundPlanner {
 public:
  RoundPlanner(const Fabric& fabric, const PathLearner& learner, std::uint32_t times, std::uint64_t seed)
      : fabric_(&fabric),
        learner_(&learner),
        random_(seed),
        by_channel_(fabric.channel_count()),
        need_(fabric.channel_count(), 0),
        loaded_(fabric.channel_count(), false) {
    for (std::uint32_t p = 0; p < learner.pairs().size(); ++p)
      for (std::uint32_t r = 0; r < learner.pairs()[p].routes.size(); ++r) add({p, r});
    for (std::uint32_t c = 0; c < need_.size(); ++c)
      if (!by_channel_[c].empty()) {
        need_[c] = times;
        wanted_.push_back(ChannelId(c));
        std::ranges::shuffle(by_channel_[c], random_);
      }
  }

  bool is_done() const { return wanted_.empty(); }
  /// Every channel was loaded by some round.
  bool has_covered() const {
    return std::ranges::all_of(wanted_, [this](ChannelId c) { return loaded_[c.value()]; });
  }

  /// Flows between NICs of one switch, as many as there is room for: what they get tells of the NICs' cables
  /// without any between switches.
  LoadRound within_switches() {
    LoadRound round;
    std::vector<bool> busy(fabric_->channel_count(), false);
    for (const auto& candidates : by_channel_)
      for (const Candidate& candidate : candidates) {
        const auto path = channels(candidate);
        const bool within = std::ranges::none_of(
            path, [&](ChannelId c) { return fabric_->between_switches(c) || busy[c.value()]; });
        if (within) round.push_back(flow_of(candidate, busy));
      }
    return round;
  }

  LoadRound next() {
    LoadRound round;
    std::vector<bool> busy(fabric_->channel_count(), false);
    std::ranges::shuffle(wanted_, random_);
    // What no round has loaded yet first; of these the channels between switches, which are harder to fit in
    // than those of the NICs, which come along.
    std::ranges::stable_sort(wanted_, std::ranges::greater{}, [this](ChannelId c) {
      return std::tuple(!loaded_[c.value()], fabric_->between_switches(c), need_[c.value()]);
    });
    for (const ChannelId channel : wanted_)
      if (!busy[channel.value()] && need_[channel.value()] > 0) add_flow_over(channel, busy, round);
    std::erase_if(wanted_, [this](ChannelId c) { return need_[c.value()] == 0; });
    return round;
  }

 private:
  const Route& route(const Candidate& c) const { return learner_->pairs()[c.pair].routes[c.route]; }
  std::span<const ChannelId> channels(const Candidate& c) const {
    return learner_->table().channels(learner_->table().paths(route(c).paths)[0]);
  }

  void add(const Candidate& candidate) {
    if (!route(candidate).reached || learner_->table().paths(route(candidate).paths).size() != 1) return;
    for (const ChannelId channel : channels(candidate)) by_channel_[channel.value()].push_back(candidate);
  }

  void add_flow_over(ChannelId channel, std::vector<bool>& busy, LoadRound& round) {
    auto& candidates = by_channel_[channel.value()];
    std::size_t best = candidates.size();
    std::size_t best_gain = 0;
    for (std::size_t i = 0; i < std::min(candidates.size(), kMaxTries); ++i) {
      const auto path = channels(candidates[i]);
      if (std::ranges::any_of(path, [&](ChannelId c) { return busy[c.value()]; })) continue;
      const auto gain = static_cast<std::size_t>(
          std::ranges::count_if(path, [this](ChannelId c) { return need_[c.value()] > 0; }));
      if (gain > best_gain) best_gain = gain, best = i;
    }
    if (best == candidates.size()) return;
    for (const ChannelId c : channels(candidates[best]))
      if (need_[c.value()] > 0) --need_[c.value()];
    round.push_back(flow_of(candidates[best], busy));
    std::rotate(candidates.begin() + static_cast<std::ptrdiff_t>(best),
                candidates.begin() + static_cast<std::ptrdiff_t>(best) + 1, candidates.end());
  }

  PlannedFlow flow_of(const Candidate& chosen, std::vector<bool>& busy) {
    const PairRoutes& pair = learner_->pairs()[chosen.pair];
    Bandwidth rate = fabric_->rate(channels(chosen).front());
    for (const ChannelId c : channels(chosen)) {
      busy[c.value()] = loaded_[c.value()] = true;
      rate = std::min(rate, fabric_->rate(c));
    }
    return {{pair.src, pair.dst}, route(chosen).label, route(chosen).paths, rate};
  }

  const Fabric* fabric_;
  const PathLearner* learner_;
  std::mt19937_64 random_;
  std::vector<std::vector<Candidate>> by_channel_;
  std::vector<std::uint32_t> need_;
  std::vector<bool> loaded_;  // by a round planned so far
  std::vector<ChannelId> wanted_;
};

std::size_t shared_channels(const PathTable& table, const PlannedFlow& a, const PlannedFlow& b) {
  const auto first = table.channels(table.paths(a.path)[0]);
  const auto second = table.channels(table.paths(b.path)[0]);
  return static_cast<std::size_t>(std::ranges::count_if(
      first, [&](ChannelId c) { return std::ranges::find(second, c) != second.end(); }));
}

}  // namespace

std::vector<LoadRound> plan_load_rounds(const Fabric& fabric, const PathLearner& learner, std::uint32_t times,
                                        std::size_t most_rounds, std::uint64_t seed) {
  RoundPlanner planner(fabric, learner, times, seed);
  std::vector<LoadRound> rounds;
  if (times > 1) rounds.push_back(planner.within_switches());
  if (!rounds.empty() && rounds.back().empty()) rounds.pop_back();
  const auto last = [&] { return planner.has_covered() ? most_rounds : kMaxForCoverage * most_rounds; };
  while (!planner.is_done() && rounds.size() < last()) {
    rounds.push_back(planner.next());
    if (rounds.back().empty()) {
      rounds.pop_back();
      break;
    }
  }
  return rounds;
}

std::size_t channels_left_out(const PathLearner& learner, const std::vector<LoadRound>& rounds,
                              const std::vector<ChannelId>& channels) {
  const PathTable& table = learner.table();
  std::set<ChannelId> crossed;
  for (const PairRoutes& pair : learner.pairs())
    for (const Route& route : pair.routes)
      if (const auto paths = table.paths(route.paths); route.reached && paths.size() == 1)
        for (const ChannelId channel : table.channels(paths[0])) crossed.insert(channel);
  for (const LoadRound& round : rounds)
    for (const PlannedFlow& flow : round)
      for (const ChannelId channel : table.channels(table.paths(flow.path)[0])) crossed.erase(channel);
  return static_cast<std::size_t>(
      std::ranges::count_if(channels, [&](ChannelId channel) { return crossed.contains(channel); }));
}

PressPlanner::PressPlanner(const Fabric& fabric, const PathLearner& learner,
                           const std::set<ChannelId>& channels, const std::set<ChannelId>& avoid)
    : learner_(&learner) {
  for (const PairRoutes& pair : learner.pairs())
    for (const Route& route : pair.routes) {
      const auto paths = learner.table().paths(route.paths);
      if (!route.reached || paths.size() != 1) continue;
      const auto path = learner.table().channels(paths[0]);
      const auto met = static_cast<std::size_t>(
          std::ranges::count_if(path, [&](ChannelId c) { return avoid.contains(c); }));
      Bandwidth rate = fabric.rate(path[0]);
      for (const ChannelId c : path) rate = std::min(rate, fabric.rate(c));
      for (const ChannelId channel : path) {
        if (!channels.contains(channel)) continue;
        const Choice choice{{{pair.src, pair.dst}, route.label, route.paths, rate},
                            met - (avoid.contains(channel) ? 1 : 0)};
        auto& over = over_[channel];
        const bool same_pair = !over.empty() && over.back().flow.pair == choice.flow.pair;
        if (!same_pair)
          over.push_back(choice);
        else if (choice.avoidable < over.back().avoidable)
          over.back() = choice;
      }
    }
  for (auto& [channel, over] : over_) {
    const auto fewest = std::ranges::min(over, {}, &Choice::avoidable).avoidable;
    std::erase_if(over, [fewest](const Choice& choice) { return choice.avoidable > fewest; });
  }
}

bool PressPlanner::can_isolate(ChannelId channel) const {
  const auto at = over_.find(channel);
  return at != over_.end() && at->second.front().avoidable == 0;
}

std::vector<LoadRound> PressPlanner::rounds(ChannelId channel, const Press& press) const {
  const auto at = over_.find(channel);
  if (at == over_.end()) return {};
  const auto& over = at->second;
  const auto offering = [&](std::size_t index, double share) {
    PlannedFlow flow = over[index].flow;
    flow.rate = flow.rate * share;
    return flow;
  };
  std::vector<LoadRound> rounds;
  for (std::size_t i = 0; i < press.alone.size(); ++i)
    rounds.push_back({offering(i * over.size() / press.alone.size(), press.alone[i])});
  struct Two {
    std::size_t shared, a, b;
    auto operator<=>(const Two&) const = default;
  };
  std::set<Two> couples;
  constexpr std::size_t kMaxFlows = 64;  // flows to pick couples from
  for (std::size_t a = 0; a < std::min(over.size(), kMaxFlows); ++a)
    for (std::size_t b = a + 1; b < std::min(over.size(), kMaxFlows); ++b)
      couples.insert({shared_channels(learner_->table(), over[a].flow, over[b].flow), a, b});
  auto two = couples.begin();
  for (std::size_t i = 0; i < (couples.empty() ? 0 : press.together.size()); ++i) {
    rounds.push_back({offering(two->a, press.together[i]), offering(two->b, press.together[i])});
    if (++two == couples.end()) two = couples.begin();
  }
  return rounds;
}

std::vector<ChannelId> channels_not_loaded(const PathTable& table, const std::vector<LoadRound>& rounds,
                                           const std::vector<LoadObservation>& seen) {
  std::set<ChannelId> open;
  const auto channels_of = [&table](PathSetId path) { return table.channels(table.paths(path)[0]); };
  for (const LoadRound& round : rounds)
    for (const PlannedFlow& flow : round)
      for (const ChannelId channel : channels_of(flow.path)) open.insert(channel);
  for (const LoadObservation& load : seen)
    for (const ChannelId channel : channels_of(load.path))
      if (!load.sender_stalled) open.erase(channel);
  return {open.begin(), open.end()};
}

std::vector<LoadRound> rounds_over(const PathTable& table, const std::vector<LoadRound>& rounds,
                                   const std::vector<ChannelId>& channels) {
  std::vector<LoadRound> over;
  for (const LoadRound& round : rounds)
    for (const PlannedFlow& flow : round)
      if (std::ranges::any_of(table.channels(table.paths(flow.path)[0]),
                              [&](ChannelId c) { return std::ranges::binary_search(channels, c); }))
        over.push_back({flow});
  return over;
}

std::vector<LoadRound> merge_rounds(const PathTable& table, const std::vector<LoadRound>& rounds) {
  std::vector<LoadRound> merged;
  std::vector<std::set<ChannelId>> busy;
  for (const LoadRound& round : rounds) {
    std::set<ChannelId> channels;
    for (const PlannedFlow& flow : round)
      for (const ChannelId channel : table.channels(table.paths(flow.path)[0])) channels.insert(channel);
    const auto is_free = [&](const std::set<ChannelId>& taken) {
      return std::ranges::none_of(channels, [&](ChannelId c) { return taken.contains(c); });
    };
    auto at = static_cast<std::size_t>(std::ranges::find_if(busy, is_free) - busy.begin());
    if (at == merged.size()) {
      merged.emplace_back();
      busy.emplace_back();
    }
    merged[at].insert(merged[at].end(), round.begin(), round.end());
    busy[at].insert(channels.begin(), channels.end());
  }
  return merged;
}

}  // namespace weft::plan
