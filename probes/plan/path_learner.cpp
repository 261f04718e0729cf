#include "probes/plan/path_learner.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "topology/base/check.hpp"
#include "topology/model/fabric.hpp"

namespace weft::plan {
namespace {

/// A route known only as more paths than this says nothing about any channel.
constexpr std::size_t kMaxAlternatives = 64;
/// No shortest path of a three-tier fabric has more channels than this.
constexpr std::size_t kMaxHops = 16;
constexpr std::size_t kMaxStrangers = 1000;
constexpr double kDark = 0.1;  // of the flows that chance leads to expect: fewer, and the way passes none

/// The ports of switches that answer from this address: one, or all of a switch that has one for itself.
std::vector<PortId> ports_behind(const Fabric& fabric, const AddressBook& addresses, const IpAddress& from) {
  if (const auto port = addresses.port_of(from))
    return fabric.is_host(fabric.port(*port).node) ? std::vector<PortId>() : std::vector<PortId>{*port};
  const auto node = addresses.node_of(from);
  if (!node || fabric.is_host(*node)) return {};
  const auto ports = fabric.ports_of(*node);
  return {ports.begin(), ports.end()};
}

std::uint64_t pair_key(PortId src, PortId dst) {
  return static_cast<std::uint64_t>(src.value()) << 32 | dst.value();
}

}  // namespace

/// What one trace says: by hop (index 0: hop 1) the ports by which the probe came in. More than one where the
/// fabric sprays; none where the hop was silent.
struct PathLearner::Seen {
  PortId src;
  PortId dst;
  std::vector<std::vector<PortId>> ports;
};

bool PathLearner::learn(PortId src, PortId dst, PathLabel label, std::span<const datapath::HopAnswer> answers,
                        bool peer_asked) {
  Seen seen{src, dst, {}};
  bool reached = false;
  std::uint16_t answered = 0;
  std::vector<datapath::HopAnswer> by_hop(answers.begin(), answers.end());
  std::ranges::stable_sort(by_hop, {}, &datapath::HopAnswer::hop);
  std::unordered_map<PortId, std::uint8_t>
      first_at;  // a router with no way on answers for all hops beyond it too
  for (const datapath::HopAnswer& answer : by_hop) {
    reached |= answer.is_peer;
    if (answer.is_peer || answer.hop == 0 || answer.hop > kMaxHops) continue;
    const auto ports = ports_behind(*fabric_, *addresses_, answer.from);
    if (ports.empty()) note_stranger(src, dst, answer);
    for (const PortId port : ports) {
      if (first_at.try_emplace(port, answer.hop).first->second != answer.hop) continue;
      if (seen.ports.size() < answer.hop) seen.ports.resize(answer.hop);
      auto& here = seen.ports[answer.hop - 1u];
      if (std::ranges::find(here, port) == here.end()) here.push_back(port);
      answered = static_cast<std::uint16_t>(answered | 1u << (answer.hop - 1u));
    }
  }
  if (!reached && answered == 0) {
    silent_.try_emplace({src, dst}, label);
    return false;
  }
  note_entries(seen);
  const auto channels = paths_that_fit(seen);
  if (channels.empty()) {
    ++contradictions_;
    return false;
  }
  std::vector<PathId> ids;
  for (const auto& path : channels) ids.push_back(table_->intern(path));
  put(src, dst, {label, table_->intern_set(ids), reached || (!peer_asked && ids.size() == 1), answered});
  return true;
}

void PathLearner::suppose_silent() {
  std::set<PortId> heard;
  std::set<PortId> asked;
  for (const PairRoutes& known : pairs_) heard.insert(known.src);
  for (const auto& [pair, label] : silent_) asked.insert(pair.first);
  asked.insert(heard.begin(), heard.end());
  if (2 * heard.size() <= asked.size()) return;
  for (const auto& [pair, label] : silent_) {
    const auto& [src, dst] = pair;
    if (heard.contains(src)) continue;
    std::vector<PathId> ids;
    for (const auto& path : paths_that_fit({src, dst, {}})) ids.push_back(table_->intern(path));
    if (!ids.empty()) put(src, dst, {label, table_->intern_set(ids), false});
  }
  silent_.clear();
}

namespace {

/// Flows that ended behind a switch with several ways on, and what is seen to go by these ways.
class EndedFlows {
 public:
  EndedFlows(const Fabric& fabric, routing::ShortestPathCache& ways, PathTable& table)
      : fabric_(fabric), ways_(ways), table_(table) {}

  void count(const PairRoutes& pair) {
    for (const Route& route : pair.routes)
      if (is_open(route)) {
        chances_[edges(pair)];
        ++ended_[{edges(pair), ways_of(route)}];
      }
  }

  /// Of each hop that is known, which of the ways on is taken. Once all that ended are counted.
  void count_ways(const PairRoutes& pair) {
    const auto at = chances_.find(edges(pair));
    if (at == chances_.end()) return;
    routing::ShortestPaths& way = ways_.to(routing::edge_switch(fabric_, pair.dst));
    for (const Route& route : pair.routes) {
      const auto path = table_.channels(table_.paths(route.paths).front());
      const std::size_t known = route.reached ? path.size() : route.answered_hops();
      if (!table_.share_start(route.paths, known)) continue;
      for (std::size_t i = 0; i < known && i + 1 < path.size(); ++i) {
        const auto choices = way.next(fabric_.target_node(path[i]));
        for (const ChannelId on : choices)
          at->second[on].expected += 1.0 / static_cast<double>(choices.size());
        if (i + 1 < known) ++at->second[path[i + 1]].seen;
      }
    }
  }

  void narrow(PairRoutes& pair) {
    for (Route& route : pair.routes) {
      if (!is_open(route)) continue;
      auto& known = chances_[edges(pair)];
      const Ways ways = ways_of(route);
      double dark = 0;
      for (const ChannelId way : ways) dark += known[way].is_dark() ? known[way].expected : 0.0;
      // Do the ways that nothing is seen to take account for all that ended?
      if (ended_[{edges(pair), ways}] > dark + 2 * std::sqrt(dark)) continue;
      const auto paths = table_.paths(route.paths);
      std::vector<PathId> left(paths.begin(), paths.end());
      std::erase_if(
          left, [&](PathId path) { return !known[table_.channels(path)[route.answered_hops()]].is_dark(); });
      if (!left.empty()) route.paths = table_.intern_set(left);
    }
  }

 private:
  struct Chance {
    double expected = 0;  // flows that take it, if all ways on are equally likely
    double seen = 0;
    bool is_dark() const { return seen < kDark * expected; }
  };
  using Edges = std::pair<NodeId, NodeId>;  // the switches of a pair
  using Ways = std::set<ChannelId>;         // by which flows that ended may have gone on

  Edges edges(const PairRoutes& pair) const {
    return {routing::edge_switch(fabric_, pair.src), routing::edge_switch(fabric_, pair.dst)};
  }
  bool is_open(const Route& route) const {
    return !route.reached && table_.paths(route.paths).size() > 1 &&
           table_.share_start(route.paths, route.answered_hops());
  }
  Ways ways_of(const Route& route) const {
    Ways ways;
    for (const PathId path : table_.paths(route.paths))
      ways.insert(table_.channels(path)[route.answered_hops()]);
    return ways;
  }

  const Fabric& fabric_;
  routing::ShortestPathCache& ways_;
  PathTable& table_;
  std::map<Edges, std::map<ChannelId, Chance>> chances_;
  std::map<std::pair<Edges, Ways>, double> ended_;  // flows
};

}  // namespace

void PathLearner::narrow_ended() {
  EndedFlows ended(*fabric_, ways_, *table_);
  for (const PairRoutes& pair : pairs_) ended.count(pair);
  for (const PairRoutes& pair : pairs_) ended.count_ways(pair);
  for (PairRoutes& pair : pairs_) ended.narrow(pair);
}

void PathLearner::sort() {
  for (PairRoutes& known : pairs_) std::ranges::sort(known.routes, {}, &Route::label);
  std::ranges::sort(pairs_, {}, [](const PairRoutes& known) { return pair_key(known.src, known.dst); });
  for (std::size_t i = 0; i < pairs_.size(); ++i) pair_index_[pair_key(pairs_[i].src, pairs_[i].dst)] = i;
}

void PathLearner::adopt(PortId src, PortId dst, PathLabel label,
                        std::span<const std::vector<ChannelId>> paths) {
  std::vector<PathId> ids;
  for (const auto& path : paths) ids.push_back(table_->intern(path));
  put(src, dst, {label, table_->intern_set(ids), true});
}

/// Hops that sprayed say nothing here: which of them came behind which is not known.
void PathLearner::note_entries(const Seen& seen) {
  const auto node_of = [&](const std::vector<PortId>& ports) -> std::optional<NodeId> {
    if (ports.empty()) return std::nullopt;
    const NodeId node = fabric_->port(ports.front()).node;
    const bool one = std::ranges::all_of(ports, [&](PortId p) { return fabric_->port(p).node == node; });
    return one ? std::optional(node) : std::nullopt;
  };
  std::optional<NodeId> before = fabric_->port(seen.src).node;
  for (const auto& ports : seen.ports) {
    const auto node = node_of(ports);
    const bool exact = ports.size() == 1;
    const bool whole = node && ports.size() == fabric_->ports_of(*node).size();
    if (before && node && (exact || whole))
      ++entries_[{*before, *node, exact ? std::optional(ports.front()) : std::nullopt}];
    before = exact || whole ? node : std::nullopt;
  }
}

void PathLearner::note_stranger(PortId src, PortId dst, const datapath::HopAnswer& answer) {
  if (addresses_->port_of(answer.from) || addresses_->node_of(answer.from)) return;
  const bool known = std::ranges::find(strangers_, answer.from, &Stranger::address) != strangers_.end();
  if (!known && strangers_.size() < kMaxStrangers) strangers_.push_back({answer.from, src, dst, answer.hop});
}

void PathLearner::put(PortId src, PortId dst, const Route& route) {
  auto& routes = pair(src, dst).routes;
  const auto known = std::ranges::find(routes, route.label, &Route::label);
  if (known == routes.end())
    routes.push_back(route);
  else
    *known = route;
}

/// All shortest paths that pass, hop by hop, one of the ports seen there. Depth first, bounded by
/// kMaxAlternatives.
std::vector<std::vector<ChannelId>> PathLearner::paths_that_fit(const Seen& seen) {
  std::vector<std::vector<ChannelId>> found;
  const NodeId goal = routing::edge_switch(*fabric_, seen.dst);
  routing::ShortestPaths& way = ways_.to(goal);
  const auto arrived_as_seen = [&](ChannelId channel, std::size_t hop) {
    if (hop >= seen.ports.size() || seen.ports[hop].empty()) return true;
    return std::ranges::find(seen.ports[hop], fabric_->target(channel)) != seen.ports[hop].end();
  };
  std::vector<std::vector<ChannelId>> open{{*fabric_->channel_from(seen.src)}};
  if (!arrived_as_seen(open.front().front(), 0)) return found;
  while (!open.empty()) {
    auto path = std::move(open.back());
    open.pop_back();
    const NodeId here = fabric_->target_node(path.back());
    if (here == goal) {
      path.push_back(*fabric_->channel_into(seen.dst));
      found.push_back(std::move(path));
    } else {
      for (const ChannelId next : way.next(here))
        if (arrived_as_seen(next, path.size())) {
          open.push_back(path);
          open.back().push_back(next);
        }
    }
    if (found.size() + open.size() > kMaxAlternatives) return {};
  }
  return found;
}

PairRoutes& PathLearner::pair(PortId src, PortId dst) {
  const auto [at, is_new] = pair_index_.try_emplace(pair_key(src, dst), pairs_.size());
  if (is_new) pairs_.push_back({src, dst, {}});
  return pairs_[at->second];
}

const PairRoutes* PathLearner::find(PortId src, PortId dst) const {
  const auto at = pair_index_.find(pair_key(src, dst));
  return at == pair_index_.end() ? nullptr : &pairs_[at->second];
}

PathMap PathLearner::path_map() const {
  PathMap map{*table_, {}};
  for (const PairRoutes& known : pairs_) {
    std::map<PathId, std::vector<PathLabel>> by_path;
    for (const Route& route : known.routes)
      if (route.reached)
        for (const PathId path : table_->paths(route.paths)) by_path[path].push_back(route.label);
    if (by_path.empty()) continue;
    PairPaths& pair = map.pairs.emplace_back(PairPaths{known.src, known.dst, {}});
    for (auto& [path, labels] : by_path) {
      std::ranges::sort(labels);
      pair.paths.push_back({path, std::move(labels)});
    }
  }
  return map;
}

std::vector<PathLabel> even_labels(const PathTable& table, const PairRoutes& pair, std::size_t count) {
  std::map<PathSetId, std::vector<PathLabel>> by_path;
  for (const Route& route : pair.routes)
    if (route.reached && table.paths(route.paths).size() == 1) by_path[route.paths].push_back(route.label);
  // Numbers of paths are by who answered first.
  std::vector<std::vector<PathLabel>> paths;
  for (auto& [path, labels] : by_path) {
    std::ranges::sort(labels);
    paths.push_back(std::move(labels));
  }
  std::ranges::sort(paths);
  std::vector<PathLabel> chosen;
  for (std::size_t turn = 0; !paths.empty() && chosen.size() < count; ++turn)
    for (const auto& labels : paths)
      if (chosen.size() < count) chosen.push_back(labels[turn % labels.size()]);
  return chosen;
}

}  // namespace weft::plan
