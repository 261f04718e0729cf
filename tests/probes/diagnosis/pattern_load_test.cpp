// What the loads of a job's patterns tell, whose flows are many and small.
#include <gtest/gtest.h>

#include "swept.hpp"
#include "topology/model/clos.hpp"

namespace weft::diagnosis {
namespace {

Diagnosis loaded(std::uint64_t seed, LoadPattern pattern, const std::vector<std::string>& faults) {
  const auto fabric =
      make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 2, .link = Bandwidth::gbit(100)}).value();
  return swept(fabric, faults, {.seed = seed, .pattern = pattern});
}

TEST(PatternLoad, OfAnIncastWhoseFlowsAreSmallASlowCableIsNotHealthy) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto diagnosis = loaded(seed, LoadPattern::incast, {"leaf2--spine1:rate=30G"});
    EXPECT_NE(diagnosis.verdict, Verdict::healthy) << seed;
  }
}

TEST(PatternLoad, GoodHostsWhoseFlowsCrossASlowCableAreNotNamed) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto diagnosis = loaded(seed, LoadPattern::all_pairs, {"leaf2--spine1:rate=30G"});
    EXPECT_EQ(diagnosis.links.size(), 1u) << seed;
    EXPECT_TRUE(diagnosis.hosts.empty()) << seed;
  }
}

TEST(PatternLoad, AHealthyFabricIsHealthyUnderEach) {
  for (const auto pattern : {LoadPattern::incast, LoadPattern::all_pairs})
    EXPECT_EQ(loaded(1, pattern, {}).verdict, Verdict::healthy);
}

}  // namespace
}  // namespace weft::diagnosis
