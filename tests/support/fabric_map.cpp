#include "tests/support/fabric_map.hpp"

#include <algorithm>
#include <numeric>

#include "topology/model/fabric.hpp"

namespace weft::plan {
namespace {

/// Of a refresh: a switch that hashes otherwise now fails one with a chance of 1 - 1/members.
constexpr std::uint32_t kChecksOfRefresh = 2;
/// Looked at by a NIC for one that is of use, in a round.
constexpr int kCandidates = 6;
/// Asked of one group in a round once a first lot of its flows is known: more say what others said.
constexpr std::size_t kMaxAtOnce = 12;
constexpr std::size_t kMaxRounds = 64;
/// Flows of a group without structure that are to show each of its members, by chance: 1 in a million missed
/// of 64 members.
constexpr std::size_t kEnoughOfNone = 20;  // times its members

}  // namespace

FabricMap::FabricMap(const Fabric& fabric, const AddressBook& addresses,
                     std::vector<std::vector<PortId>> peers, Fraction confidence, std::uint64_t seed)
    : fabric_(&fabric),
      addresses_(&addresses),
      peers_(std::move(peers)),
      random_(seed),
      learner_(fabric, addresses, table_),
      hashes_(fabric, addresses, learner_.ways(), confidence) {}

/// Whether answers over this group teach something.
bool FabricMap::wants(std::size_t group) const {
  const HashLearner& hash = hashes_.hash(group);
  if (group < checks_due_.size() && checks_due_[group] > 0) return true;
  if (hash.is_checked()) return false;
  if (!hash.given_up()) return true;
  const bool all_seen = group < seen_.size() && std::ranges::count(seen_[group], false) == 0;
  return !all_seen && hash.flows() < kEnoughOfNone * hash.members();
}

std::size_t FabricMap::quota(std::size_t group) const {
  const HashLearner& hash = hashes_.hash(group);
  if (group < checks_due_.size() && checks_due_[group] > 0) return checks_due_[group];
  return hash.flows() < 2 * std::size_t{hash.members()} ? 2 * std::size_t{hash.members()} : kMaxAtOnce;
}

/// The group that an answer to this label would tell of.
std::optional<std::size_t> FabricMap::lesson_of(const SwitchHashes::Walk& walk) const {
  // A hash that passed its checks may not know this flow yet.
  for (const std::size_t group : walk.crossed) {
    const bool is_news = walk.open == group && !hashes_.hash(group).given_up();
    if ((is_news || wants(group)) && (group >= pending_.size() || pending_[group] < quota(group)))
      return group;
  }
  return std::nullopt;
}

HopRange FabricMap::deciding(const NicPair& pair) {
  const auto key =
      std::pair(routing::edge_switch(*fabric_, pair.src), routing::edge_switch(*fabric_, pair.dst));
  const auto [known, is_new] = deciding_.try_emplace(key);
  if (is_new)
    if (const auto ways = ways_of_pair(*fabric_, learner_.ways(), *addresses_, pair))
      known->second = ways->deciding;
  return known->second;
}

std::vector<FabricMap::Asking> FabricMap::next_round() {
  std::vector<Asking> askings;
  if (++rounds_ > kMaxRounds) return askings;
  pending_.assign(hashes_.size(), 0);
  std::vector<std::size_t> order(peers_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, random_);
  const auto nics = fabric_->nics();
  for (const std::size_t i : order) {
    if (peers_[i].empty()) continue;
    for (int candidate = 0; candidate < kCandidates; ++candidate) {
      const NicPair pair{nics[i], peers_[i][random_() % peers_[i].size()]};
      const PathLabel label(kFirstRoceLabel + static_cast<std::uint32_t>(random_() % kRoceLabels));
      const auto walk = hashes_.walk(pair, label, false);
      const auto lesson = lesson_of(walk);
      if (!lesson) continue;
      pending_.resize(hashes_.size());
      for (const std::size_t group : walk.crossed) ++pending_[group];
      askings.push_back({pair, label, deciding(pair)});
      break;
    }
  }
  asked_ += askings.size();
  return askings;
}

void FabricMap::take(const Asking& asking, std::span<const datapath::HopAnswer> answers) {
  if (answers.empty()) return;
  const NicPair& pair = asking.pair;
  if (!learner_.learn(pair.src, pair.dst, asking.label, answers, asking.hops.to_peer)) return;
  const auto& routes = learner_.find(pair.src, pair.dst)->routes;
  const auto route = std::ranges::find(routes, asking.label, &Route::label);
  const auto paths = table_.paths(route->paths);
  if (paths.size() != 1) return;
  const auto path = table_.channels(paths.front());
  hashes_.learn(pair, asking.label, path, path.size());
  note_members(pair, path);
}

void FabricMap::note_members(const NicPair& pair, std::span<const ChannelId> path) {
  const NodeId goal = routing::edge_switch(*fabric_, pair.dst);
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    const auto group = hashes_.group_at(fabric_->target_node(path[i]), goal);
    if (!group) continue;
    if (*group < checks_due_.size() && checks_due_[*group] > 0) --checks_due_[*group];
    if (seen_.size() < hashes_.size()) seen_.resize(hashes_.size());
    auto& seen = seen_[*group];
    const auto& hash = hashes_.hash(*group);
    seen.resize(hash.members());
    const auto next = learner_.ways().to(goal).next(fabric_->target_node(path[i]));
    if (const auto at = std::ranges::find(next, path[i + 1]); at != next.end())
      seen[static_cast<std::size_t>(at - next.begin())] = true;
  }
}

void FabricMap::refresh() {
  checks_due_.assign(hashes_.size(), 0);
  for (std::size_t group = 0; group < hashes_.size(); ++group)
    if (hashes_.hash(group).is_checked()) checks_due_[group] = kChecksOfRefresh;
  hashes_.expect_changes();
  rounds_ = 0;
  asked_ = 0;
}

}  // namespace weft::plan
