// Change: links fail and come back, jobs arrive and leave; few QPs move and the bound is met again.
#include <gtest/gtest.h>

#include <algorithm>

#include "balancer/assign/assign.hpp"
#include "tests/support/traffic.hpp"
#include "topology/model/clos.hpp"

namespace weft::assign {
namespace {

Fabric fabric_of(std::uint32_t hosts) {
  return *make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = hosts});
}

std::uint32_t crossing(const PhaseAssignment& answer, LinkId link) {
  std::uint32_t count = 0;
  for (const SteeredQp& qp : answer.qps)
    count += static_cast<std::uint32_t>(std::ranges::count(qp.route.channels(), link, &Fabric::link_of));
  return count;
}

TEST(Change, NothingMovesWhenNothingChanged) {
  const auto fabric = fabric_of(8);
  const auto phase = cross_leaf_permutation(fabric, 1);
  const auto before = assign(fabric, phase, {.qps = 2});
  const auto after = reassign(fabric, phase, {.qps = 2}, kept(phase, before));
  EXPECT_EQ(after.moves, 0u);
  for (std::size_t i = 0; i < before.qps.size(); ++i) EXPECT_EQ(before.qps[i].route, after.qps[i].route);
}

TEST(Change, AFailedCableIsLeftWithFewMovesAndTheBoundIsMet) {
  const auto fabric = fabric_of(7);
  const auto phase = cross_leaf_permutation(fabric, 1);
  const auto before = assign(fabric, phase, {.qps = 4});
  for (const LinkId link : random_uplinks(fabric, 0.2, 1)) {
    AssignOptions options{.qps = 4};
    options.avoid = without({&link, 1});
    const auto after = reassign(fabric, phase, options, kept(phase, before));
    EXPECT_DOUBLE_EQ(after.load.ratio, 1);
    EXPECT_EQ(crossing(after, link), 0u);
    EXPECT_GE(after.moves, crossing(before, link));
    EXPECT_LE(after.moves, 3 * crossing(before, link));
  }
}

TEST(Change, ACableThatComesBackIsUsedAgain) {
  const auto fabric = fabric_of(8);
  const auto phase = cross_leaf_permutation(fabric, 1);
  const auto link = *fabric.find_link("leaf1--spine1");
  AssignOptions broken{.qps = 4};
  broken.avoid = without({&link, 1});
  const auto during = assign(fabric, phase, broken);
  const auto after = reassign(fabric, phase, {.qps = 4}, kept(phase, during));
  EXPECT_DOUBLE_EQ(after.load.ratio, 1);
  EXPECT_EQ(crossing(after, link), 8u);
}

TEST(Change, AJobThatArrivesMovesFewOfTheOthersAndOneThatLeavesMovesNone) {
  const auto fabric = fabric_of(8);
  const auto all = cross_leaf_permutation(fabric, 1);
  demand::Phase first{"first", {all.flows.begin(), all.flows.begin() + 48}};
  const auto before = assign(fabric, first, {.qps = 2});
  const auto with_second = reassign(fabric, all, {.qps = 2}, kept(first, before));
  EXPECT_DOUBLE_EQ(with_second.load.ratio, 1);
  EXPECT_LE(with_second.moves, 64u);
  const auto alone = reassign(fabric, first, {.qps = 2}, kept(all, with_second));
  EXPECT_DOUBLE_EQ(alone.load.ratio, 1);
}

TEST(Change, AChannelThatCongestsGivesUpItsShareOnly) {
  const auto fabric = fabric_of(4);
  const auto phase = cross_leaf_permutation(fabric, 1);
  const auto before = assign(fabric, phase, {.qps = 8});
  const auto slow = *fabric.find_channel("leaf1->spine1");
  AssignOptions options{.qps = 8};
  options.avoid = {{slow, 0.5}};
  const auto after = reassign(fabric, phase, options, kept(phase, before));
  EXPECT_DOUBLE_EQ(after.load.ratio, 1);
  std::ptrdiff_t still = 0;
  for (const SteeredQp& qp : after.qps) still += std::ranges::count(qp.route.channels(), slow);
  EXPECT_GT(still, 0);
  EXPECT_LT(still, 4);
}

TEST(Change, TwentyFailuresInSuccessionLeaveTheBoundMet) {
  const auto fabric = *make_clos({.leaves = 16, .spines = 16, .hosts_per_leaf = 15});
  const auto phase = cross_leaf_permutation(fabric, 3);
  AssignOptions options{.qps = 4};
  auto answer = assign(fabric, phase, options);
  const auto links = random_uplinks(fabric, 1.0, 3);
  for (std::size_t failed = 1; failed <= 20; ++failed) {
    options.avoid = without(std::span(links).first(failed));
    answer = reassign(fabric, phase, options, kept(phase, answer));
    ASSERT_NEAR(answer.load.ratio, 1, 1e-9) << failed;
  }
}

TEST(Change, LabelsOfQpsThatStayAreKept) {
  const auto fabric = fabric_of(6);
  const auto phase = cross_leaf_permutation(fabric, 1);
  const auto map = probed_path_map(fabric, phase, 64, true, 1);
  AssignOptions options{.qps = 2, .paths = &map, .reverse = true};
  const auto before = assign(fabric, phase, options);
  const auto link = *fabric.find_link("leaf1--spine1");
  options.avoid = without({&link, 1});
  const auto after = reassign(fabric, phase, options, kept(phase, before));
  for (std::size_t i = 0; i < before.qps.size(); ++i) {
    ASSERT_TRUE(after.qps[i].reverse);
    if (before.qps[i].route == after.qps[i].route) {
      EXPECT_EQ(before.qps[i].label, after.qps[i].label);
    }
  }
  EXPECT_GT(after.moves, 0u);
}

}  // namespace
}  // namespace weft::assign
