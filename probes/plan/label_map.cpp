#include "probes/plan/label_map.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "probes/plan/trace_plan.hpp"
#include "topology/model/fabric.hpp"

namespace weft::plan {
namespace {

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
  const std::size_t known = paths.size() == 1 ? path.size() : common_start(table, route.paths);
  hashes_.learn(pair, label, path, known);
  // Hop `known + 1` is where the paths part. It answered, from several nodes: that switch sprays.
  const bool parts = paths.size() > 1 && known > 0 && (route.answered >> known & 1U) != 0;
  const auto node_of = [&](PathId each) { return fabric_->target_node(table.channels(each)[known]); };
  if (parts && std::ranges::any_of(paths, [&](PathId p) { return node_of(p) != node_of(paths.front()); }))
    if (const auto group =
            hashes_.group_at(fabric_->target_node(path[known - 1]), routing::edge_switch(*fabric_, pair.dst)))
      hashes_.give_up(*group);
}

LabelPath LabelMap::path_of(const NicPair& pair, PathLabel label) {
  if (const Route* route = seen(pair, label); route && learner_->table().paths(route->paths).size() == 1) {
    const auto path = learner_->table().channels(learner_->table().paths(route->paths).front());
    return {LabelState::seen, {path.begin(), path.end()}, 1};
  }
  auto way = hashes_.walk(pair, label, true);
  return {way.arrives ? LabelState::predicted : LabelState::open, std::move(way.channels),
          way.arrives ? way.confidence : 0};
}

/// Whether one label more may tell of this group in this answer.
bool LabelMap::fits(GroupIndex group, Chosen& chosen) const {
  const HashLearner& hash = hashes_.hash(group);
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
    const auto group = hashes_.walk(pair, label, false).open;
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
  if (std::ranges::all_of(hashes_.groups(),
                          [](const GroupState& g) { return g.hash->given_up() || g.hash->is_checked(); }))
    return labels;
  Chosen chosen;
  for (std::size_t i = 0; i < order_.size() && labels.size() < most; ++i) {
    if (i > kMaxLookedAt && !labels.empty()) break;
    const PathLabel label = order_[asked.check_cursor++ % order_.size()];
    if (asked.times.contains(label) || seen(pair, label)) continue;
    const auto group = hashes_.walk(pair, label, false).unchecked;
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

}  // namespace weft::plan
