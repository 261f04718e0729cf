// What the data can show at most: the test of one who knows everything but whether this channel is faulty.
#pragma once

#include "tests/bench/diagnosis/comparators.hpp"

namespace weft::bench {

enum class Knows {
  everything,    // the true loss of every other channel
  all_but_usual  // which others are faulty and how much they lose, but of the healthy only their mean
};

/// Each channel's log posterior odds of being faulty: by the likelihood ratio over the law of the faults'
/// sizes and of the backgrounds, the true number of faults on average as the prior. No test of the same data
/// names more of the faults at as few false names (Neyman and Pearson 1933): it orders channels by that
/// ratio, and has besides what no test has, the others' losses. One-way known paths.
Ranking rank_oracle(const Fabric& fabric, const Run& run, const Scenario& scenario, Knows knows);

}  // namespace weft::bench
