// PathSearch: finds all paths of many pairs of NICs with few probes. Of a label it asks only the hops that
// tell its path: what the fabric decides is not asked. A pair is done once all paths of the fabric file were
// seen; where some are not, or answers contradict the file, once so many labels were answered that each path
// had been seen, with the confidence that was asked for, of all pairs together. Silence costs certainty,
// never a wrong path: a label that stays silent is asked again, then at all of its hops. Some labels are
// asked twice: one that goes two ways is a set of paths. Pure; not thread-safe. Learner, fabric and addresses
// must outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "probes/plan/pairs.hpp"
#include "probes/plan/path_learner.hpp"
#include "probes/plan/trace_plan.hpp"

namespace weft::plan {

/// What leads from one NIC to another as the fabric is designed.
struct PairWays {
  std::uint32_t paths = 0;  // 65,535 at most
  HopRange deciding;        // whose answers tell which path it was; of a single path: the peer
  HopRange all;
};

/// Switches that have no address for a port answer from one of their own: then links side by side are told by
/// the next hop. Absent: no way leads there, or one of more than 254 hops.
std::optional<PairWays> ways_of_pair(const Fabric& fabric, routing::ShortestPathCache& ways,
                                     const AddressBook& addresses, const NicPair& pair);

/// The hops whose answer alone tells the whole path of a pair, and whether all answers together do: not where
/// links side by side lead to a switch that answers from an address of its own.
struct TellingHops {
  std::vector<std::uint8_t> alone;  // ascending
  bool together = false;
};
TellingHops telling_hops(const Fabric& fabric, routing::ShortestPathCache& ways, const AddressBook& addresses,
                         const NicPair& pair);

struct SearchOptions {
  Fraction confidence{0.99};  // that no path is missed where not all of the file are seen
  std::uint64_t seed = 1;
};

/// Why no more of a pair is asked.
enum class SearchEnd : std::uint8_t {
  searching,
  all_seen,      // all paths of the fabric file
  enough_asked,  // labels that had shown every path, by chance
  silent,        // nobody answers
  no_way,
};

class PathSearch {
 public:
  /// Precondition: of each pair both NICs have addresses.
  PathSearch(PathLearner& learner, const Fabric& fabric, const AddressBook& addresses,
             const std::vector<NicPair>& pairs, SearchOptions options);

  struct Asking {
    NicPair pair;
    PathLabel label;
    HopRange hops;
  };
  /// What to ask next, all of it at once; empty: every pair is done.
  std::vector<Asking> next();
  /// What came of it: the answers of this asking, none where nobody answered. What was never asked is
  /// passed over.
  void take(const Asking& asking, std::span<const datapath::HopAnswer> answers);
  /// A pair that can be asked no more: one of its NICs takes no part.
  void leave(const NicPair& pair);

  /// Share of the latest askings that were answered; 1 before the first.
  double answered_share() const;

  struct State {
    NicPair pair;
    PairWays ways;
    std::size_t paths_seen = 0;
    std::size_t labels = 0;   // answered, each once
    std::size_t sprayed = 0;  // labels that went several ways
    std::size_t odd = 0;      // labels whose answers fit no path of the file
    SearchEnd end = SearchEnd::searching;
  };
  std::vector<State> states() const;

 private:
  struct Label {
    std::uint8_t askings = 0;
    bool told = false;  // its path, or that there is none in the file
    std::vector<datapath::HopAnswer> answers;
  };
  struct Pair {
    NicPair pair;
    PairWays ways;
    SearchEnd end = SearchEnd::searching;
    std::map<PathLabel, Label> labels;
    std::vector<PathLabel> silent;  // of the latest askings: to ask again
    std::set<PathId> seen;
    std::set<std::vector<IpAddress>> odd;  // answers that fit no path of the file
    std::size_t told = 0;                  // labels
    std::size_t contradictions = 0;        // labels
    std::size_t sprayed = 0;
    std::size_t silent_in_a_row = 0;
    bool asked_again = false;
  };
  std::uint32_t enough(const Pair& pair);
  void settle(Pair& pair);
  std::size_t wanted(const Pair& pair) const;
  PathLabel fresh_label(const Pair& pair);
  void learn(Pair& pair, PathLabel name, Label& label, std::span<const datapath::HopAnswer> answers,
             bool to_peer);

  PathLearner* learner_;
  Fraction confidence_;
  std::mt19937_64 random_;
  std::vector<Pair> pairs_;
  std::map<NicPair, std::size_t> index_;
  std::map<std::uint32_t, std::uint32_t> enough_;  // labels to see so many paths
  std::size_t asked_ = 0;                          // by the latest next()
  std::size_t answered_ = 0;
  bool decider_answers_ = false;  // of the hops that decide, any did
};

}  // namespace weft::plan
