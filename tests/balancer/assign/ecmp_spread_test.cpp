#include "balancer/assign/ecmp_spread.hpp"

#include <gtest/gtest.h>

#include "balancer/demand/collectives.hpp"
#include "topology/model/clos.hpp"

namespace weft::assign {
namespace {

Fabric fabric_of(std::uint32_t spines) {
  return *make_clos({.leaves = 2, .spines = spines, .hosts_per_leaf = 2});
}

/// Every host sends 1 MB across.
demand::Demand across(const Fabric& fabric) {
  return demand::make_shift(demand::rails_of(fabric, fabric.hosts()).front(), 2, Bytes(1'000'000));
}

TEST(EcmpSpread, IsTheExpectationOfRandomChoice) {
  const Fabric fabric = fabric_of(2);
  const auto spread = ecmp_spread(fabric, across(fabric), {});
  // Each way two flows choose between two spines: with 1/2 a way they collide, with 1/4 neither way does.
  EXPECT_EQ(spread.draws, 200u);
  EXPECT_NEAR(spread.mean, 1.75e6, 0.1e6);
  EXPECT_EQ(spread.low, 1e6);
  EXPECT_EQ(spread.high, 2e6);
  EXPECT_EQ(spread.mean, ecmp_spread(fabric, across(fabric), {}).mean) << "one seed, one answer";
}

TEST(EcmpSpread, MoreQueuePairsComeCloserToTheBound) {
  const Fabric fabric = fabric_of(2);
  EXPECT_LT(ecmp_spread(fabric, across(fabric), {.qps = 16}).mean,
            ecmp_spread(fabric, across(fabric), {}).mean);
}

TEST(EcmpSpread, SaysNothingWhereThereIsNoChoice) {
  const Fabric fabric = fabric_of(1);
  EXPECT_EQ(ecmp_spread(fabric, across(fabric), {}).draws, 0u);
}

}  // namespace
}  // namespace weft::assign
