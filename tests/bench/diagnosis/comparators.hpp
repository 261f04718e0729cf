// Published localisers, written here from their papers for the comparison alone: 007 (Arzani et al., NSDI
// 2018, algorithm 1), NetBouncer (Tan et al., NSDI 2019, coordinate descent on its regularised least squares)
// and Flock (Harsh et al., CoNEXT 2023: its flow likelihood with greedy joint likelihood exploration).
// One-way known paths; every channel is a candidate.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/bench/diagnosis/scenario.hpp"

namespace weft::bench {

/// Channels and how strongly each is suspected: named where that is at or above a threshold.
using Ranking = std::vector<std::pair<ChannelId, double>>;

/// One ranking for each setting of a comparator's other parameters, by a text that says which.
std::map<std::string, Ranking> rank_007(const Fabric& fabric, const Run& run);
std::map<std::string, Ranking> rank_netbouncer(const Fabric& fabric, const Run& run);
std::map<std::string, Ranking> rank_flock(const Fabric& fabric, const Run& run);
/// Precision and recall at the setting and threshold with the best F1 over all seeds: an advantage the
/// comparators have over weft, which keeps its defaults.
struct BestOfAll {
  double precision = 0;
  double recall = 0;
  std::string setting;
  double threshold = 0;
};
class Pool {
 public:
  void add(const std::map<std::string, Ranking>& rankings, const std::vector<ChannelId>& faults);
  BestOfAll best() const;
  /// With the setting and threshold that were best on other seeds.
  BestOfAll with(const BestOfAll& other) const;
  /// The most recall at any setting and threshold at which at least `precision` of what is named is right.
  double recall_at(double precision) const;

 private:
  std::map<std::string, std::vector<std::pair<double, bool>>> entries_;
  std::size_t faults_ = 0;
};

}  // namespace weft::bench
