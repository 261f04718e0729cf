#include "probes/plan/label_map.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "probes/plan/trace_plan.hpp"
#include "topology/model/fabric.hpp"

namespace weft::plan {
namespace {

using routing::FlowBits;

constexpr std::uint8_t kMaxTimes = 3;  // a label is asked: silent three times is silent, not unlucky
/// Labels of one answer that are to tell of one group, once a first lot of flows is known: each but the first
/// may say what another of them said.
constexpr std::size_t kMaxAtOnce = 4;
/// Labels asked in a row that nobody answers: more than rate limits and losses that leave a map of use.
constexpr std::size_t kMaxSilent = 64;
/// Labels looked at for one answer, when some to ask were found.
constexpr std::size_t kMaxLookedAt = 512;

/// How many channels all paths of a set begin with in common.
std::size_t common_start(const PathTable& table, PathSetId set) {
  const auto first = table.channels(table.paths(set).front());
  std::size_t length = 0;
  while (length < first.size() && table.share_start(set, length + 1)) ++length;
  return length;
}

}  // namespace

std::vector<PathLabel> LabelMap::label_order(std::uint64_t seed) {
  auto labels = spread_labels(kRoceLabels);
  std::mt19937_64 random(seed);
  std::ranges::shuffle(labels, random);
  return labels;
}

std::optional<LabelMap::GroupIndex> LabelMap::group_at(NodeId at, NodeId goal) {
  const auto [known, is_new] =
      group_of_.try_emplace(std::uint64_t{at.value()} << 32 | goal.value(), std::nullopt);
  if (!is_new) return known->second;
  const auto next = learner_->ways().to(goal).next(at);
  if (next.size() < 2) return std::nullopt;
  std::vector<ChannelId> hops(next.begin(), next.end());
  const auto [group, is_first] = index_.try_emplace({at, hops}, groups_.size());
  if (is_first)
    groups_.push_back({at, hops, HashLearner(static_cast<std::uint32_t>(hops.size()), confidence_)});
  return known->second = group->second;
}

const Route* LabelMap::seen(const NicPair& pair, PathLabel label) const {
  const PairRoutes* known = learner_->find(pair.src, pair.dst);
  if (!known) return nullptr;
  const auto route = std::ranges::find(known->routes, label, &Route::label);
  return route == known->routes.end() ? nullptr : &*route;
}

void LabelMap::learn(const NicPair& pair, std::span<const PathLabel> labels) {
  for (const PathLabel label : labels)
    if (const Route* route = seen(pair, label)) {
      asked_[pair].silent = 0;
      learn_path(pair, label, *route);
    }
}

void LabelMap::learn_path(const NicPair& pair, PathLabel label, const Route& route) {
  const PathTable& table = learner_->table();
  const auto paths = table.paths(route.paths);
  const auto path = table.channels(paths.front());
  const NodeId goal = routing::edge_switch(*fabric_, pair.dst);
  const auto src = addresses_->address_of(pair.src), dst = addresses_->address_of(pair.dst);
  if (!src || !dst) return;
  const FlowBits flow = FlowBits::of(*src, *dst, label);
  const std::size_t known = paths.size() == 1 ? path.size() : common_start(table, route.paths);
  for (std::size_t i = 0; i + 1 < known; ++i) {
    const auto group = group_at(fabric_->target_node(path[i]), goal);
    if (!group) continue;
    const auto member = std::ranges::find(groups_[*group].next_hops, path[i + 1]);
    if (member == groups_[*group].next_hops.end())
      groups_[*group].hash.give_up();
    else
      groups_[*group].hash.learn(flow,
                                 static_cast<std::uint32_t>(member - groups_[*group].next_hops.begin()));
  }
  // Hop `known + 1` is where the paths part. It answered, from several nodes: that switch sprays.
  const bool parts = paths.size() > 1 && known > 0 && (route.answered >> known & 1U) != 0;
  const auto node_of = [&](PathId each) { return fabric_->target_node(table.channels(each)[known]); };
  if (parts && std::ranges::any_of(paths, [&](PathId p) { return node_of(p) != node_of(paths.front()); }))
    if (const auto group = group_at(fabric_->target_node(path[known - 1]), goal))
      groups_[*group].hash.give_up();
}

LabelMap::Walk LabelMap::walk(const NicPair& pair, PathLabel label, bool by_checked) {
  Walk walk{.channels = {*fabric_->channel_from(pair.src)}, .open = {}, .unchecked = {}};
  const NodeId goal = routing::edge_switch(*fabric_, pair.dst);
  const auto src = addresses_->address_of(pair.src), dst = addresses_->address_of(pair.dst);
  if (!src || !dst) return walk;
  const FlowBits flow = FlowBits::of(*src, *dst, label);
  while (fabric_->target_node(walk.channels.back()) != goal) {
    const NodeId here = fabric_->target_node(walk.channels.back());
    const auto group = group_at(here, goal);
    if (!group) {
      const auto next = learner_->ways().to(goal).next(here);
      if (next.empty()) return walk;
      walk.channels.push_back(next.front());
      continue;
    }
    const HashLearner& hash = groups_[*group].hash;
    auto told = hash.predict(flow);
    if (!told && !by_checked) {
      told = hash.suppose(flow);
      if (told && !walk.unchecked) walk.unchecked = group;
    }
    // By exclusion alone: as good as open, for whoever asks what to trace.
    const bool by_exclusion = told && !by_checked && !hash.has_seen(*told);
    if (!told || by_exclusion) {
      walk.open = group;
      return walk;
    }
    walk.confidence *= hash.confidence();
    walk.channels.push_back(groups_[*group].next_hops[*told]);
  }
  walk.channels.push_back(*fabric_->channel_into(pair.dst));
  walk.arrives = true;
  return walk;
}

LabelPath LabelMap::path_of(const NicPair& pair, PathLabel label) {
  if (const Route* route = seen(pair, label); route && learner_->table().paths(route->paths).size() == 1) {
    const auto path = learner_->table().channels(learner_->table().paths(route->paths).front());
    return {LabelState::seen, {path.begin(), path.end()}, 1};
  }
  Walk way = walk(pair, label, true);
  return {way.arrives ? LabelState::predicted : LabelState::open, std::move(way.channels),
          way.arrives ? way.confidence : 0};
}

/// Whether one label more may tell of this group in this answer.
bool LabelMap::fits(GroupIndex group, Chosen& chosen) const {
  const HashLearner& hash = groups_[group].hash;
  const std::size_t most = hash.flows() < hash.members() ? hash.members() : kMaxAtOnce;
  if (chosen[group] >= most) return false;
  ++chosen[group];
  return true;
}

std::vector<PathLabel> LabelMap::open_labels(const NicPair& pair, Asked& asked, std::size_t most) {
  std::vector<PathLabel> labels;
  Chosen chosen;
  std::vector<PathLabel> later;
  const auto look_at = [&](PathLabel label) {
    if (seen(pair, label)) return;
    const auto group = walk(pair, label, false).open;
    if (!worth(group)) return;
    if (labels.size() < most && fits(*group, chosen))
      labels.push_back(label);
    else
      later.push_back(label);
  };
  for (const PathLabel label : asked.postponed) look_at(label);
  for (std::size_t looked_at = 0; asked.cursor < order_.size() && labels.size() < most; ++asked.cursor) {
    if (++looked_at > kMaxLookedAt && !labels.empty()) break;
    if (!asked.times.contains(order_[asked.cursor])) look_at(order_[asked.cursor]);
  }
  if (labels.empty())
    for (const auto& [label, times] : asked.times)
      if (times < kMaxTimes) look_at(label);
  asked.postponed = std::move(later);
  return labels;
}

std::vector<PathLabel> LabelMap::checks(const NicPair& pair, Asked& asked, std::size_t most) {
  std::vector<PathLabel> labels;
  if (std::ranges::all_of(groups_, [](const Group& g) { return g.hash.given_up() || g.hash.is_checked(); }))
    return labels;
  Chosen chosen;
  for (std::size_t i = 0; i < order_.size() && labels.size() < most; ++i) {
    if (i > kMaxLookedAt && !labels.empty()) break;
    const PathLabel label = order_[asked.check_cursor++ % order_.size()];
    if (asked.times.contains(label) || seen(pair, label)) continue;
    const auto group = walk(pair, label, false).unchecked;
    if (worth(group) && fits(*group, chosen)) labels.push_back(label);
  }
  return labels;
}

std::vector<PathLabel> LabelMap::next_labels(const NicPair& pair, std::size_t most) {
  Asked& asked = asked_[pair];
  if (asked.silent >= kMaxSilent) return {};
  auto labels = open_labels(pair, asked, most);
  if (labels.empty()) labels = checks(pair, asked, most);
  for (const PathLabel label : labels) ++asked.times[label];
  asked.silent += labels.size();
  return labels;
}

PathMap LabelMap::predicted(const NicPair& pair) {
  PathMap map;
  std::map<PathId, std::vector<PathLabel>> by_path;
  for (const PathLabel label : spread_labels(kRoceLabels))
    if (const auto told = path_of(pair, label); told.state == LabelState::predicted)
      by_path[map.table.intern(told.channels)].push_back(label);
  if (by_path.empty()) return map;
  PairPaths& paths = map.pairs.emplace_back(PairPaths{pair.src, pair.dst, {}});
  for (auto& [path, labels] : by_path) paths.paths.push_back({path, std::move(labels)});
  return map;
}

LabelMap::Tally LabelMap::tally(const NicPair& pair) {
  Tally tally;
  for (const PathLabel label : spread_labels(kRoceLabels)) {
    const auto told = path_of(pair, label);
    switch (told.state) {
      case LabelState::seen:
        ++tally.seen;
        break;
      case LabelState::predicted:
        ++tally.predicted;
        tally.confidence = std::min(tally.confidence, told.confidence);
        break;
      case LabelState::open:
        ++tally.open;
    }
  }
  return tally;
}

std::vector<GroupState> LabelMap::groups() const {
  std::vector<GroupState> states;
  for (const Group& group : groups_) states.push_back({group.at, group.next_hops, &group.hash});
  return states;
}

std::size_t LabelMap::taken_back() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(groups_, [](const Group& group) { return group.hash.taken_back(); }));
}

}  // namespace weft::plan
