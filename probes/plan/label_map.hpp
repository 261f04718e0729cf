// LabelMap: which path every label of every pair takes, by the hashes of the switches on the way, each
// learned from the answers of all pairs that cross it. A label is seen (it was traced), predicted (all groups
// of next hops on its way are learned and checked) or open. It says which labels to trace next so that the
// most is learned. Predictions are for the choice of what to trace: a load or a blame goes by what was seen.
// Pure; not thread-safe. Learner, fabric and addresses must outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "probes/plan/pairs.hpp"
#include "probes/plan/path_learner.hpp"
#include "probes/plan/switch_hashes.hpp"

namespace weft::plan {

enum class LabelState : std::uint8_t { seen, predicted, open };

struct LabelPath {
  LabelState state = LabelState::open;
  std::vector<ChannelId> channels;  // of a label that is open: up to the group that leaves it so
  double confidence = 0;            // seen: 1
};

class LabelMap {
 public:
  LabelMap(PathLearner& learner, const Fabric& fabric, const AddressBook& addresses, Fraction confidence,
           std::uint64_t seed)
      : learner_(&learner),
        fabric_(&fabric),
        hashes_(fabric, addresses, learner.ways(), confidence),
        order_(label_order(seed)) {}

  /// Learns from what the path learner knows of these labels of a pair; of others nothing changes. A label
  /// whose route is a set of paths teaches nothing, and one that a switch sprays ends its group.
  void learn(const NicPair& pair, std::span<const PathLabel> labels);

  LabelPath path_of(const NicPair& pair, PathLabel label);

  /// Up to `most` labels of this pair to trace next, fresh ones: those that are open, and when none is, some
  /// that cross a group whose checks are not done. Empty: there is nothing left to learn by asking, because
  /// all is predicted, what is open has no structure, or nobody answers. A label without an answer is asked
  /// three times.
  std::vector<PathLabel> next_labels(const NicPair& pair, std::size_t most);

  /// The labels of a pair that are predicted, by path: for who reads the map. Not for loads: trace them
  /// first.
  PathMap predicted(const NicPair& pair);
  /// How the labels of a pair stand, and the least confidence of those predicted (1: none is).
  struct Tally {
    std::size_t seen = 0;
    std::size_t predicted = 0;
    std::size_t open = 0;
    double confidence = 1;
  };
  Tally tally(const NicPair& pair);

  std::vector<GroupState> groups() const { return hashes_.groups(); }
  /// Groups that had predicted and then contradicted themselves: what they predicted is taken back.
  std::size_t taken_back() const { return hashes_.taken_back(); }

 private:
  using GroupIndex = SwitchHashes::GroupIndex;
  struct Asked {
    std::size_t cursor = 0;                             // into order_: those before it were looked at
    std::size_t check_cursor = 0;                       // the same for checks, round and round
    std::size_t silent = 0;                             // labels asked since one was answered
    std::vector<PathLabel> postponed;                   // were open when looked at, and not asked
    std::unordered_map<PathLabel, std::uint8_t> times;  // of labels asked
  };
  using Chosen = std::map<GroupIndex, std::size_t>;  // labels of one answer, by what they are to tell of

  static std::vector<PathLabel> label_order(std::uint64_t seed);
  const Route* seen(const NicPair& pair, PathLabel label) const;
  void learn_path(const NicPair& pair, PathLabel label, const Route& route);
  std::vector<PathLabel> open_labels(const NicPair& pair, Asked& asked, std::size_t most);
  std::vector<PathLabel> checks(const NicPair& pair, Asked& asked, std::size_t most);
  bool worth(std::optional<GroupIndex> group) const { return group && !hashes_.hash(*group).given_up(); }
  bool fits(GroupIndex group, Chosen& chosen) const;

  PathLearner* learner_;
  const Fabric* fabric_;
  SwitchHashes hashes_;
  std::vector<PathLabel> order_;  // of all labels, random
  std::map<NicPair, Asked> asked_;
};

}  // namespace weft::plan
