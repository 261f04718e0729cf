// SwitchHashes: how the switches of a fabric choose among their equal next hops, each group learned from the
// paths of all pairs that cross it; and the way of a label as far as that tells. Pure; not thread-safe.
// Fabric, addresses and shortest paths must outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "probes/plan/hash_learner.hpp"
#include "probes/plan/pairs.hpp"
#include "topology/model/addressing.hpp"
#include "topology/routing/shortest_paths.hpp"

namespace weft::plan {

/// By which what was learned of a hash is told.
inline constexpr Fraction kHashConfidence(0.999);

/// What is known of one group of equal next hops.
struct GroupState {
  NodeId at;
  std::vector<ChannelId> next_hops;
  const HashLearner* hash = nullptr;
};

class SwitchHashes {
 public:
  using GroupIndex = std::size_t;

  SwitchHashes(const Fabric& fabric, const AddressBook& addresses, routing::ShortestPathCache& ways,
               Fraction confidence)
      : fabric_(&fabric), addresses_(&addresses), ways_(&ways), confidence_(confidence) {}

  /// The group by which a switch chooses on its way to an edge switch; absent: there is one way at most.
  std::optional<GroupIndex> group_at(NodeId at, NodeId goal);
  const HashLearner& hash(GroupIndex group) const { return groups_[group].hash; }
  std::size_t size() const { return groups_.size(); }

  /// A label of a pair took the first `known` channels of this path.
  void learn(const NicPair& pair, PathLabel label, std::span<const ChannelId> path, std::size_t known);
  void give_up(GroupIndex group) { groups_[group].hash.give_up(); }
  /// From now on a group that contradicts what it predicted is learned anew, once: its switch may be another
  /// one, or its routes may have changed. Without this it is given up.
  void expect_changes();
  /// Groups learned anew since then.
  std::size_t changed() const { return changed_; }

  /// The way of a label as far as it is known.
  struct Walk {
    std::vector<ChannelId> channels;
    std::optional<GroupIndex> open;       // where nothing is known of where it goes on
    std::optional<GroupIndex> unchecked;  // the first whose supposed choice was not checked
    std::vector<GroupIndex> crossed;      // groups that choose, in order
    bool arrives = false;
    double confidence = 1;
  };
  /// `by_checked`: by models that passed their checks alone; else by what is supposed, too.
  Walk walk(const NicPair& pair, PathLabel label, bool by_checked);

  std::vector<GroupState> groups() const;
  /// Groups that had predicted and then contradicted themselves: what they predicted is taken back.
  std::size_t taken_back() const;

 private:
  struct Group {
    NodeId at;
    std::vector<ChannelId> next_hops;
    HashLearner hash;
    bool may_change = false;
  };

  const Fabric* fabric_;
  const AddressBook* addresses_;
  routing::ShortestPathCache* ways_;
  Fraction confidence_;
  std::vector<Group> groups_;
  std::unordered_map<std::uint64_t, std::optional<GroupIndex>> group_of_;  // by switch and goal
  std::map<std::pair<NodeId, std::vector<ChannelId>>, GroupIndex> index_;
  std::size_t changed_ = 0;
};

}  // namespace weft::plan
