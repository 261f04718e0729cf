// Weighted QPs, and the fractional optimum they are measured by.
#include <gtest/gtest.h>

#include "balancer/assign/assign.hpp"
#include "balancer/assign/lp_bound.hpp"
#include "balancer/demand/collectives.hpp"
#include "tests/support/traffic.hpp"
#include "topology/model/clos.hpp"

namespace weft::assign {
namespace {

TEST(Weighted, SharesGoBelowTheBoundForEqualQpsDownToTheFractionalOne) {
  const auto fabric = *make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 8});
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto phase = cross_leaf_permutation(fabric, seed);
    AssignOptions options{.qps = 4, .weighted = true, .seed = seed};
    options.avoid = without(random_uplinks(fabric, 0.05, seed));
    const auto answer = assign(fabric, phase, options);
    EXPECT_LE(answer.load.busiest, 1.02 * answer.bounds.fractional);
    EXPECT_LT(answer.load.busiest, answer.bounds.integral);
    std::vector<double> bytes(phase.flows.size());
    for (const SteeredQp& qp : answer.qps) {
      EXPECT_GE(qp.bytes, 0);
      bytes[qp.flow] += qp.bytes;
    }
    for (const double sum : bytes) EXPECT_NEAR(sum, 1e6, 1e-3);
  }
}

TEST(Weighted, OneQpAFlowHasNothingToWeigh) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 3, .hosts_per_leaf = 4});
  const auto phase = demand::make_shift(fabric.nics(), 4, Bytes(900)).phases[0];
  const auto answer = assign(fabric, phase, {.weighted = true});
  EXPECT_DOUBLE_EQ(answer.load.busiest, 1800);
  EXPECT_DOUBLE_EQ(answer.load.ratio, 1.5);  // 3600 over three spines is 1200
}

struct Prepared {
  explicit Prepared(const Fabric& fabric, const demand::Phase& phase, const std::vector<Avoided>& avoid)
      : capacities(fabric, avoid),
        routes(fabric, capacities),
        instance(make_instance(fabric, capacities, routes, phase.flows, 1, nullptr)) {
    instance.fill_routes(routes);
  }
  Capacities capacities;
  Routes routes;
  Instance instance;
};

TEST(LpOptimum, IsNeverBelowTheCutsAndFindsWhatTheyMiss) {
  const auto fabric = *make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 2});
  // leaf1 and leaf2 reach leaf3 and leaf4 by spine1 alone (their downlinks from spine2 are dead), although
  // every leaf by itself has capacity enough on one side: spine1->leaf3 carries four flows.
  std::vector<Avoided> avoid{{*fabric.find_channel("spine2->leaf3")},
                             {*fabric.find_channel("spine2->leaf4")}};
  const auto nics = fabric.nics();
  const demand::Phase phase{"", {{nics[0], nics[4], Bytes(100)}, {nics[1], nics[6], Bytes(100)}}};
  const Prepared prepared(fabric, phase, avoid);
  const auto cuts = bounds_of(prepared.instance, prepared.routes, false);
  const auto optimum = lp_optimum(prepared.instance, 1000);
  if (!optimum) GTEST_SKIP() << "built without CLP";
  EXPECT_DOUBLE_EQ(cuts.fractional, 100);  // each pair by itself; together they share leaf1->spine1
  EXPECT_NEAR(*optimum, 200, 1e-6);
}

TEST(LpOptimum, RaisesTheIntegralBoundToWhatWholeQpsCanMake) {
  const auto fabric = *make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 2});
  AssignOptions options{.lp_variables = 1000};
  options.avoid = {{*fabric.find_channel("spine2->leaf3")}, {*fabric.find_channel("spine2->leaf4")}};
  const auto nics = fabric.nics();
  const demand::Phase phase{"", {{nics[0], nics[4], Bytes(100)}, {nics[1], nics[6], Bytes(100)}}};
  const auto answer = assign(fabric, phase, options);
  EXPECT_DOUBLE_EQ(answer.load.busiest, 200);
  if (answer.bounds.fractional < 150) GTEST_SKIP() << "built without CLP";
  EXPECT_DOUBLE_EQ(answer.load.ratio, 1);
}

TEST(LpOptimum, AProgrammeTooLargeIsNotTried) {
  const auto fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  const Prepared prepared(fabric, cross_leaf_permutation(fabric, 1), {});
  EXPECT_FALSE(lp_optimum(prepared.instance, 10));
}

}  // namespace
}  // namespace weft::assign
