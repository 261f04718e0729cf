// Where groups sit, in which order ranks go, and which algorithm wins.
#include <gtest/gtest.h>

#include <algorithm>

#include "balancer/assign/choose_algorithm.hpp"
#include "balancer/assign/rank_order.hpp"
#include "topology/model/clos.hpp"

namespace weft::assign {
namespace {

std::string leaf_of(const Fabric& fabric, NodeId host) {
  return fabric.name_of(fabric.target_node(*fabric.channel_from(fabric.ports_of(host)[0])));
}

TEST(RankOrder, VisitsEachLeafOnceWhateverTheOrderGiven) {
  const auto fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  std::vector<NodeId> scattered;
  for (std::size_t i = 0; i < 16; ++i) scattered.push_back(fabric.hosts()[i * 5 % 16]);
  const auto order = rank_order(fabric, scattered);
  ASSERT_EQ(order.size(), 16u);
  int changes = 0;
  for (std::size_t i = 0; i < 16; ++i)
    changes += leaf_of(fabric, order[i]) != leaf_of(fabric, order[(i + 1) % 16]);
  EXPECT_EQ(changes, 4);
  EXPECT_TRUE(std::ranges::is_permutation(order, scattered));
}

TEST(RankOrder, KeepsPodsTogetherAndPutsFullLeavesFirst) {
  const auto fabric = *make_pod_clos({.pods = 2, .leaves = 2, .spines = 2, .cores = 2, .hosts_per_leaf = 2});
  const std::vector hosts{*fabric.find_node("host5"), *fabric.find_node("host1"), *fabric.find_node("host7"),
                          *fabric.find_node("host8")};
  std::vector<std::string> names;
  for (const NodeId host : rank_order(fabric, hosts)) names.push_back(fabric.name_of(host));
  EXPECT_EQ(names, (std::vector<std::string>{"host7", "host8", "host5", "host1"}));
}

TEST(PlaceGroups, WhatTalksMostSitsInnermost) {
  const auto fabric = *make_clos({.leaves = 8, .spines = 4, .hosts_per_leaf = 4});
  const auto layers = layers_of(fabric, 8, Bandwidth::gbit(3600));
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(layers[1].ranks, 32u);
  EXPECT_DOUBLE_EQ(layers[1].per_rank / Bandwidth::gbit(1), 50);
  const auto placed = place_groups({{"pipeline", 8, Bytes(100'000'000)},
                                    {"tensor", 8, Bytes(40'000'000'000)},
                                    {"data", 4, Bytes(2'000'000'000)}},
                                   layers);
  ASSERT_TRUE(placed);
  EXPECT_EQ((*placed)[0].parallelism.name, "tensor");
  EXPECT_EQ((*placed)[0].layer, 0u);
  EXPECT_EQ((*placed)[1].stride, 8u);
}

TEST(PlaceGroups, AJobLargerThanTheFabricIsRefused) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  const auto placed = place_groups({{"data", 64, Bytes(1)}}, layers_of(fabric, 8, Bandwidth::gbit(3600)));
  EXPECT_EQ(placed.error().message, "the job has 64 ranks, the fabric holds 32");
}

TEST(PlaceGroups, OversubscribedUplinksShowInTheOuterLayers) {
  const auto fabric = *make_pod_clos({.pods = 2, .leaves = 2, .spines = 2, .cores = 2, .hosts_per_leaf = 4});
  const auto layers = layers_of(fabric, 1, Bandwidth::gbit(3600));
  ASSERT_EQ(layers.size(), 4u);
  EXPECT_DOUBLE_EQ(layers[2].per_rank / Bandwidth::gbit(1), 200);  // two uplinks for four hosts
  EXPECT_DOUBLE_EQ(layers[3].per_rank / Bandwidth::gbit(1), 100);  // two core links for eight
}

TEST(AllReduceTimes, FewStepsWinForSmallMessagesAndFewBytesForLargeOnes) {
  const auto fabric = *make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 8});
  const MeasuredCost cost{std::chrono::microseconds(5), std::chrono::microseconds(8)};
  const auto small = all_reduce_times(fabric, {}, fabric.nics(), Bytes(1000), cost);
  EXPECT_EQ(small.front().collective, demand::Collective::recursive_doubling);
  EXPECT_EQ(small.back().collective, demand::Collective::ring);
  const auto large = all_reduce_times(fabric, {}, fabric.nics(), Bytes(10'000'000'000), cost);
  EXPECT_NE(large.front().collective, demand::Collective::recursive_doubling);
  EXPECT_EQ(large.back().collective, demand::Collective::recursive_doubling);
  for (std::size_t i = 1; i < large.size(); ++i) EXPECT_LE(large[i - 1].time, large[i].time);
}

}  // namespace
}  // namespace weft::assign
