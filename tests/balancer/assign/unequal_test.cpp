// Flows of different sizes: near the bound, nothing lost, in every sort of fabric.
#include <gtest/gtest.h>

#include "balancer/assign/assign.hpp"
#include "tests/support/traffic.hpp"
#include "topology/model/clos.hpp"

namespace weft::assign {
namespace {

double total(const demand::Phase& phase) {
  double bytes = 0;
  for (const demand::Flow& flow : phase.flows) bytes += static_cast<double>(flow.bytes.count());
  return bytes;
}

double total(const PhaseAssignment& answer) {
  double bytes = 0;
  for (const SteeredQp& qp : answer.qps) bytes += qp.bytes;
  return bytes;
}

TEST(Unequal, MixedSizesComeWithinAFewPerCentOfTheBound) {
  const auto fabric = *make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 8});
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto phase = mixed_traffic(fabric, 4, seed);
    const auto answer = assign(fabric, phase, {.seed = seed});
    EXPECT_LE(answer.load.ratio, 1.05);
    EXPECT_GE(answer.load.ratio, 1);
    EXPECT_NEAR(total(answer), total(phase), 1);
  }
}

TEST(Unequal, CablesDownAndThreeTiersAreNoDifferent) {
  const auto two = *make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 8});
  AssignOptions options{.qps = 2};
  options.avoid = without(random_uplinks(two, 0.05, 1));
  EXPECT_LE(assign(two, mixed_traffic(two, 4, 1), options).load.ratio, 1.08);
  const auto three = *make_pod_clos({.pods = 4, .leaves = 4, .spines = 4, .cores = 16, .hosts_per_leaf = 4});
  EXPECT_LE(assign(three, mixed_traffic(three, 4, 1), {.qps = 4}).load.ratio, 1.08);
}

TEST(Unequal, OneGiantFlowSetsTheBoundItself) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 4, .hosts_per_leaf = 4});
  const auto nics = fabric.nics();
  const demand::Phase phase{
      "",
      {{nics[0], nics[4], Bytes(1'000'000)}, {nics[1], nics[5], Bytes(10)}, {nics[2], nics[6], Bytes(20)}}};
  const auto answer = assign(fabric, phase, {});
  EXPECT_DOUBLE_EQ(answer.bounds.integral, 1'000'000);
  EXPECT_DOUBLE_EQ(answer.load.ratio, 1);
}

TEST(Unequal, AFailedCableIsRepairedNearTheBound) {
  const auto fabric = *make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 8});
  const auto phase = mixed_traffic(fabric, 4, 2);
  const auto before = assign(fabric, phase, {});
  const auto link = *fabric.find_link("leaf1--spine1");
  AssignOptions options;
  options.avoid = without({&link, 1});
  const auto after = reassign(fabric, phase, options, kept(phase, before));
  EXPECT_LE(after.load.ratio, 1.08);
  EXPECT_LT(after.moves, before.qps.size() / 2);
}

}  // namespace
}  // namespace weft::assign
