#include "balancer/assign/bounds.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "balancer/demand/collectives.hpp"
#include "topology/model/clos.hpp"

namespace weft::assign {
namespace {

Bounds bounds(const Fabric& fabric, const demand::Phase& phase, std::uint32_t qps,
              std::vector<Avoided> avoid = {}) {
  const Capacities capacities(fabric, avoid);
  const Routes routes(fabric, capacities);
  auto instance = make_instance(fabric, capacities, routes, phase.flows, qps, nullptr);
  instance.fill_routes(routes);
  return bounds_of(instance, routes, false);
}

TEST(LeastTime, IsTheFirstAtWhichWholeQuantaHoldTheDemand) {
  EXPECT_DOUBLE_EQ(least_time({1, 1, 1}, 7), 3);
  EXPECT_DOUBLE_EQ(least_time({1, 0.5}, 3), 2);
  EXPECT_DOUBLE_EQ(least_time({1, 0.25}, 4), 4);
  EXPECT_DOUBLE_EQ(least_time({2, 1}, 4), 1.5);
  EXPECT_DOUBLE_EQ(least_time({}, 0), 0);
  EXPECT_TRUE(std::isinf(least_time({0, 0}, 1)));
}

TEST(Bounds, OfALeafAreItsQpsOverItsUplinksRoundedUp) {
  const auto fabric = *make_clos({.leaves = 4, .spines = 3, .hosts_per_leaf = 4});
  const auto phase = demand::make_shift(fabric.nics(), 4, Bytes(600)).phases[0];
  const auto one = bounds(fabric, phase, 1);
  EXPECT_DOUBLE_EQ(one.integral, 1200);  // 4 flows over 3 uplinks
  EXPECT_DOUBLE_EQ(one.fractional, 800);
  EXPECT_DOUBLE_EQ(bounds(fabric, phase, 2).integral, 900);  // 8 halves over 3
  EXPECT_DOUBLE_EQ(bounds(fabric, phase, 3).integral, 800);  // meets the optimum
}

TEST(Bounds, OfAPairCountOnlyTheSpinesBothEndsReach) {
  const auto fabric = *make_clos({.leaves = 3, .spines = 4, .hosts_per_leaf = 3});
  const auto phase = demand::make_shift(fabric.nics(), 3, Bytes(600)).phases[0];
  std::vector<Avoided> avoid;
  for (const char* name : {"leaf1->spine1", "leaf1->spine2", "spine3->leaf2"})
    avoid.push_back({*fabric.find_channel(name)});
  // leaf1 -> leaf2: three flows over spine4 alone, although leaf1 has two uplinks and leaf2 three.
  EXPECT_DOUBLE_EQ(bounds(fabric, phase, 1, avoid).integral, 1800);
  EXPECT_DOUBLE_EQ(bounds(fabric, phase, 1, avoid).leaf_out[1], 600);
}

TEST(Bounds, OfAPodAreItsFlowsOverItsCoreLinks) {
  const auto fabric = *make_pod_clos({.pods = 2, .leaves = 2, .spines = 2, .cores = 2, .hosts_per_leaf = 2});
  const auto phase = demand::make_shift(fabric.nics(), 4, Bytes(600)).phases[0];
  const auto all = bounds(fabric, phase, 1);
  EXPECT_DOUBLE_EQ(all.integral, 1200);  // 4 flows leave a pod over 2 core links
  EXPECT_DOUBLE_EQ(all.leaf_out[0], 600);
  EXPECT_DOUBLE_EQ(all.fractional, 1200);
}

TEST(Bounds, OfFlowsOfDifferentSizesAreTheGreatestOfShareAndLargestFlow) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  const auto nics = fabric.nics();
  const demand::Phase phase{"", {{nics[0], nics[2], Bytes(1000)}, {nics[1], nics[3], Bytes(200)}}};
  EXPECT_DOUBLE_EQ(bounds(fabric, phase, 1).integral, 1000);
  EXPECT_DOUBLE_EQ(bounds(fabric, phase, 2).integral, 600);
}

}  // namespace
}  // namespace weft::assign
