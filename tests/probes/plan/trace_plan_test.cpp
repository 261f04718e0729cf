#include "probes/plan/trace_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "topology/model/clos.hpp"

namespace weft::plan {
namespace {

TEST(TracePlan, GivesEveryPairOfASmallFabricTheLabelsThatShowAllItsPaths) {
  const auto fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  routing::ShortestPathCache ways(fabric);
  const auto plan = plan_traces(fabric, ways, choose_pairs(fabric, default_partners(fabric)), {});
  EXPECT_EQ(plan.size(), 48u + 32u);
  for (const TracePlan& trace : plan) {
    const bool one_leaf =
        routing::edge_switch(fabric, trace.pair.src) == routing::edge_switch(fabric, trace.pair.dst);
    EXPECT_EQ(trace.labels.size(), one_leaf ? 4u : 21u);  // one path; four paths at 99 %
    EXPECT_TRUE(std::ranges::all_of(trace.labels,
                                    [](PathLabel l) { return l.value() >= 49152 && l.value() <= 65535; }));
    EXPECT_EQ(std::set(trace.labels.begin(), trace.labels.end()).size(), trace.labels.size());
  }
}

TEST(TracePlan, SharesTheLabelsOfALargeFabricAmongTheNicsOfALeaf) {
  const auto fabric =
      *make_pod_clos({.pods = 8, .leaves = 8, .spines = 8, .cores = 64, .hosts_per_leaf = 32});
  routing::ShortestPathCache ways(fabric);
  const auto plan = plan_traces(fabric, ways, choose_pairs(fabric, 1), {});
  std::size_t labels = 0;
  for (const TracePlan& trace : plan) labels += trace.labels.size();
  const std::size_t leaves = 64;
  EXPECT_LT(labels, 2048u * 40u);
  EXPECT_GT(labels / leaves, 600u);  // 64 paths at 99 %: 557, twice
}

TEST(TracePlan, TakesAsLongAsTheBusiestSwitchNeedsForItsAnswers) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  routing::ShortestPathCache ways(fabric);
  const NicPair pair{*fabric.find_nic("host1"), *fabric.find_nic("host2")};
  const std::vector<TracePlan> plan{{pair, spread_labels(100)}, {{pair.dst, pair.src}, spread_labels(300)}};
  // Each leaf answers for all 400 traces, each spine for half of them.
  EXPECT_EQ(least_trace_time(fabric, ways, plan, 100), std::chrono::seconds(4));
}

TEST(TracePlan, TheSameSeedGivesTheSameLabels) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  routing::ShortestPathCache ways(fabric);
  const auto pairs = choose_pairs(fabric, 1);
  EXPECT_EQ(plan_traces(fabric, ways, pairs, {.seed = 3})[0].labels,
            plan_traces(fabric, ways, pairs, {.seed = 3})[0].labels);
  EXPECT_NE(plan_traces(fabric, ways, pairs, {.seed = 3})[0].labels,
            plan_traces(fabric, ways, pairs, {.seed = 4})[0].labels);
}

}  // namespace
}  // namespace weft::plan
