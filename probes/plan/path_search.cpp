#include "probes/plan/path_search.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "topology/model/fabric.hpp"

namespace weft::plan {
namespace {

constexpr std::uint64_t kMaxPaths = 65'535;
constexpr std::uint8_t kMaxAskings = 3;  // of a label: silent three times is silent, not unlucky
/// Labels of a pair in one wave: few say what others said, and many pairs fit into one request.
constexpr std::size_t kMaxAtOnce = 64;
/// Askings in a row that nobody answered: more than rate limits and losses that leave a map of use.
constexpr std::size_t kMaxSilent = 192;
/// Paths that are not in the file are looked for up to twice as many as it has and so many more: who answers
/// from ever new addresses is not followed further.
constexpr std::uint32_t kMaxUnknown = 8;
/// More paths than this take more labels than there are (2,048 of them 21,000, with 99 %).
constexpr std::uint32_t kMaxCounted = 2'048;
/// Nodes of one distance that a trace of one hop leaves open on its way there: the path learner looks through
/// them (kMaxAlternatives of path_learner.cpp).
constexpr std::size_t kMaxOpen = 32;

/// The channels of all shortest paths between two switches, by their place.
using Layers = std::vector<std::vector<ChannelId>>;

Layers layers_between(const Fabric& fabric, routing::ShortestPaths& way, NodeId from, NodeId to) {
  Layers layers;
  std::set<NodeId> wave{from};
  while (!wave.empty() && !wave.contains(to)) {
    std::set<NodeId> next;
    auto& layer = layers.emplace_back();
    for (const NodeId node : wave)
      for (const ChannelId channel : way.next(node)) {
        layer.push_back(channel);
        next.insert(fabric.target_node(channel));
      }
    wave = std::move(next);
  }
  return wave.empty() ? Layers() : layers;
}

std::uint64_t capped(std::uint64_t count) { return std::min(count, kMaxPaths); }

/// Paths over each channel of each layer: those that lead to it times those that go on from it.
std::vector<std::vector<std::uint64_t>> paths_over(const Fabric& fabric, const Layers& layers, NodeId from,
                                                   NodeId to) {
  std::vector<std::vector<std::uint64_t>> over(layers.size());
  std::map<NodeId, std::uint64_t> into{{from, 1}};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    std::map<NodeId, std::uint64_t> next;
    for (const ChannelId channel : layers[i]) {
      const auto count = into[fabric.source_node(channel)];
      over[i].push_back(count);
      auto& there = next[fabric.target_node(channel)];
      there = capped(there + count);
    }
    into = std::move(next);
  }
  std::map<NodeId, std::uint64_t> onward{{to, 1}};
  for (std::size_t i = layers.size(); i-- > 0;) {
    std::map<NodeId, std::uint64_t> before;
    for (std::size_t c = 0; c < layers[i].size(); ++c) {
      const auto count = onward[fabric.target_node(layers[i][c])];
      over[i][c] = capped(over[i][c] * count);
      auto& here = before[fabric.source_node(layers[i][c])];
      here = capped(here + count);
    }
    onward = std::move(before);
  }
  return over;
}

/// Who answers at the end of a channel.
std::optional<IpAddress> answers_from(const Fabric& fabric, const AddressBook& addresses, ChannelId channel) {
  const auto address = addresses.address_of(fabric.target(channel));
  return address ? address : addresses.address_of(fabric.target_node(channel));
}

/// Whether who answers at the end of these channels tells the whole path.
bool tells_all(const Fabric& fabric, const AddressBook& addresses, const std::vector<ChannelId>& layer,
               const std::vector<std::uint64_t>& over) {
  std::set<IpAddress> told;
  for (std::size_t c = 0; c < layer.size(); ++c) {
    const auto address = answers_from(fabric, addresses, layer[c]);
    if (over[c] != 1 || !address || !told.insert(*address).second) return false;
  }
  return true;
}

/// Hop 1 is the first switch, so that the channels of layer i come in at hop i + 2.
std::uint8_t hop_of(std::size_t layer) { return static_cast<std::uint8_t>(layer + 2); }

std::size_t nodes_into(const Fabric& fabric, const std::vector<ChannelId>& layer) {
  std::set<NodeId> nodes;
  for (const ChannelId channel : layer) nodes.insert(fabric.source_node(channel));
  return nodes.size();
}

}  // namespace

std::optional<PairWays> ways_of_pair(const Fabric& fabric, routing::ShortestPathCache& ways,
                                     const AddressBook& addresses, const NicPair& pair) {
  const NodeId from = routing::edge_switch(fabric, pair.src), to = routing::edge_switch(fabric, pair.dst);
  const Layers layers = layers_between(fabric, ways.to(to), from, to);
  if ((layers.empty() && from != to) || layers.size() + 2 > std::numeric_limits<std::uint8_t>::max() - 1u)
    return std::nullopt;
  const auto peer = static_cast<std::uint8_t>(layers.size() + 2);
  PairWays found{1, {peer, peer, true}, {1, peer, true}};
  const auto over = paths_over(fabric, layers, from, to);
  std::uint64_t paths = layers.empty() ? 1 : 0;
  if (!layers.empty())
    for (const std::uint64_t count : over.front()) paths = capped(paths + count);
  found.paths = static_cast<std::uint32_t>(paths);
  if (paths <= 1) return found;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (tells_all(fabric, addresses, layers[i], over[i]) && nodes_into(fabric, layers[i]) <= kMaxOpen) {
      found.deciding = {hop_of(i), hop_of(i), false};
      return found;
    }
  found.deciding = {hop_of(0), hop_of(layers.size() - 1), false};
  return found;
}

TellingHops telling_hops(const Fabric& fabric, routing::ShortestPathCache& ways, const AddressBook& addresses,
                         const NicPair& pair) {
  const NodeId from = routing::edge_switch(fabric, pair.src), to = routing::edge_switch(fabric, pair.dst);
  const Layers layers = layers_between(fabric, ways.to(to), from, to);
  const auto over = paths_over(fabric, layers, from, to);
  TellingHops found{{}, true};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (tells_all(fabric, addresses, layers[i], over[i])) found.alone.push_back(hop_of(i));
    std::set<std::pair<NodeId, IpAddress>> told;  // behind a switch that is known
    for (const ChannelId channel : layers[i]) {
      const auto address = answers_from(fabric, addresses, channel);
      found.together &= address && told.emplace(fabric.source_node(channel), *address).second;
    }
  }
  return found;
}

PathSearch::PathSearch(PathLearner& learner, const Fabric& fabric, const AddressBook& addresses,
                       const std::vector<NicPair>& pairs, SearchOptions options)
    : learner_(&learner),
      confidence_(1 - (1 - options.confidence.value()) /
                          static_cast<double>(std::max<std::size_t>(1, pairs.size()))),
      random_(options.seed) {
  for (const NicPair& pair : pairs) {
    if (!index_.try_emplace(pair, pairs_.size()).second) continue;
    Pair& one = pairs_.emplace_back();
    one.pair = pair;
    if (const auto ways = ways_of_pair(fabric, learner.ways(), addresses, pair))
      one.ways = *ways;
    else
      one.end = SearchEnd::no_way;
  }
}

/// Labels that had shown every path, by chance: those of the file, or one more than were met.
std::uint32_t PathSearch::enough(const Pair& pair) {
  std::uint32_t paths = pair.ways.paths;
  if (const auto met = static_cast<std::uint32_t>(pair.seen.size() + pair.odd.size()); !pair.odd.empty())
    paths = std::clamp(met + 1, paths, 2 * paths + kMaxUnknown);
  const auto [known, is_new] = enough_.try_emplace(paths, 0);
  if (is_new)
    known->second =
        paths > kMaxCounted ? kRoceLabels : std::min(labels_to_see_all(paths, confidence_), kRoceLabels);
  return known->second;
}

/// How many labels to ask now: as many as paths are missing, for no fewer can show them; and half as many as
/// there are, so that the last one does not take a wave for each label.
std::size_t PathSearch::wanted(const Pair& pair) const {
  const std::size_t paths = pair.ways.paths;
  const std::size_t missing = paths > pair.seen.size() ? paths - pair.seen.size() : 1;
  return std::min({std::max(missing, (paths + 1) / 2), kMaxAtOnce, kRoceLabels - pair.labels.size()});
}

PathLabel PathSearch::fresh_label(const Pair& pair) {
  for (;;) {
    const PathLabel label(kFirstRoceLabel + static_cast<std::uint32_t>(random_() % kRoceLabels));
    if (!pair.labels.contains(label)) return label;
  }
}

void PathSearch::settle(Pair& pair) {
  if (pair.end != SearchEnd::searching) return;
  if (pair.silent_in_a_row >= kMaxSilent)
    pair.end = SearchEnd::silent;
  else if (pair.odd.empty() && pair.seen.size() >= pair.ways.paths)
    pair.end = SearchEnd::all_seen;
  else if (pair.told + pair.contradictions >= enough(pair) || pair.labels.size() >= kRoceLabels)
    pair.end = SearchEnd::enough_asked;
}

std::vector<PathSearch::Asking> PathSearch::next() {
  asked_ = answered_ = 0;
  std::vector<Asking> askings;
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    Pair& pair = pairs_[p];
    settle(pair);
    const bool tells = pair.ways.paths > 1 && !pair.labels.empty() && !pair.seen.empty();
    if (pair.end == SearchEnd::all_seen && tells && !pair.asked_again) {
      // Of another path in each pair, so that all switches are asked the same thing twice.
      auto known = std::next(pair.labels.begin(), static_cast<std::ptrdiff_t>(p % pair.labels.size()));
      if (!known->second.told)
        known = std::ranges::find_if(pair.labels, [](const auto& l) { return l.second.told; });
      pair.asked_again = true;
      askings.push_back({pair.pair, known->first, pair.ways.deciding});
      continue;
    }
    if (pair.end != SearchEnd::searching) continue;
    for (const PathLabel label : std::exchange(pair.silent, {})) {
      const bool last_try = pair.labels[label].askings + 1 == kMaxAskings;
      askings.push_back({pair.pair, label, last_try ? pair.ways.all : pair.ways.deciding});
    }
    const HopRange hops =
        pair.silent_in_a_row > kMaxAskings && !decider_answers_ ? pair.ways.all : pair.ways.deciding;
    for (std::size_t i = wanted(pair); i > 0; --i) {
      const PathLabel label = fresh_label(pair);
      pair.labels[label];
      askings.push_back({pair.pair, label, hops});
    }
  }
  for (const Asking& asking : askings) ++pairs_[index_.at(asking.pair)].labels[asking.label].askings;
  asked_ = askings.size();
  return askings;
}

void PathSearch::take(const Asking& asking, std::span<const datapath::HopAnswer> answers) {
  const auto at = index_.find(asking.pair);
  if (at == index_.end()) return;
  Pair& pair = pairs_[at->second];
  const auto known = pair.labels.find(asking.label);
  if (known == pair.labels.end()) return;
  Label& label = known->second;
  if (!answers.empty()) {
    ++answered_;
    decider_answers_ |= asking.hops == pair.ways.deciding;
    learn(pair, asking.label, label, answers, asking.hops.to_peer);
  }
  if (label.told) {
    pair.silent_in_a_row = 0;
  } else {
    ++pair.silent_in_a_row;
    if (label.askings < kMaxAskings) pair.silent.push_back(asking.label);
  }
}

/// A label that is answered a second time, from elsewhere, goes several ways: its route is their set.
void PathSearch::learn(Pair& pair, PathLabel name, Label& label, std::span<const datapath::HopAnswer> answers,
                       bool to_peer) {
  const auto route_of = [&]() -> const Route* {
    const PairRoutes* routes = learner_->find(pair.pair.src, pair.pair.dst);
    if (!routes) return nullptr;
    const auto route = std::ranges::find(routes->routes, name, &Route::label);
    return route == routes->routes.end() ? nullptr : &*route;
  };
  const bool was_known = label.told;
  const auto size_before = label.answers.size();
  const bool fits = learner_->learn(pair.pair.src, pair.pair.dst, name, answers, to_peer);
  const Route* route = fits ? route_of() : nullptr;
  if (route) {
    const auto paths = learner_->table().paths(route->paths);
    if (paths.size() == 1) pair.seen.insert(paths.front());
    label.told |= paths.size() == 1;
  } else {
    std::vector<IpAddress> from;
    for (const auto& answer : answers) from.push_back(answer.from);
    pair.odd.insert(from);
    if (!was_known) ++pair.contradictions;
    label.told = true;
  }
  if (route && !was_known && label.told) ++pair.told;
  label.answers.insert(label.answers.end(), answers.begin(), answers.end());
  if (size_before == 0 || !was_known) return;
  const bool differs = std::ranges::any_of(answers, [&](const datapath::HopAnswer& answer) {
    const auto old = std::span(label.answers).first(size_before);
    return std::ranges::any_of(old,
                               [&](const auto& o) { return o.hop == answer.hop && o.from != answer.from; });
  });
  if (differs) ++pair.sprayed;
  learner_->learn(pair.pair.src, pair.pair.dst, name, label.answers, to_peer);
}

void PathSearch::leave(const NicPair& pair) {
  if (const auto at = index_.find(pair); at != index_.end() && pairs_[at->second].end == SearchEnd::searching)
    pairs_[at->second].end = SearchEnd::silent;
}

double PathSearch::answered_share() const {
  return asked_ == 0 ? 1 : static_cast<double>(answered_) / static_cast<double>(asked_);
}

std::vector<PathSearch::State> PathSearch::states() const {
  std::vector<State> states;
  for (const Pair& pair : pairs_)
    states.push_back({pair.pair, pair.ways, pair.seen.size(), pair.told + pair.contradictions, pair.sprayed,
                      pair.contradictions, pair.end});
  return states;
}

}  // namespace weft::plan
