// All channels, not only the busiest: against greedy, whose order of placing evens out by itself.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "balancer/demand/collectives.hpp"
#include "balancer/flowsim/strategies.hpp"
#include "tests/support/traffic.hpp"
#include "topology/model/clos.hpp"

namespace weft::assign {
namespace {

constexpr std::size_t kGone = 6;

AssignOptions six_gone(const Fabric& fabric, std::uint32_t qps, std::uint64_t seed) {
  auto links = random_uplinks(fabric, 1.0, seed);
  links.resize(kGone);
  return {.qps = qps, .avoid = without(links)};
}

TEST(EvenOut, FlowsTakeNoLongerThanGreedysOnTheMean) {
  const auto fabric = *make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 8});
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    for (const std::uint32_t qps : {1U, 4U, 16U})
      for (const bool shift : {true, false}) {
        auto demand = demand::make_shift(fabric.nics(), 8, Bytes(10'000'000));
        if (!shift) demand.phases = {cross_leaf_permutation(fabric, seed)};
        const auto options = six_gone(fabric, qps, seed);
        const auto ours = flowsim::simulate(fabric, demand, {flowsim::Spread::weft, qps}, options);
        const auto greedy = flowsim::simulate(fabric, demand, {flowsim::Spread::greedy, qps}, options);
        EXPECT_LE(ours.mean_flow, greedy.mean_flow * (1 + 1e-9)) << seed << " " << qps << " " << shift;
        EXPECT_LE(ours.seconds, greedy.seconds * (1 + 1e-9));
      }
}

TEST(EvenOut, WhereCablesAreMissingNoChannelIsFilledToTheBoundWithoutNeed) {
  const auto whole = *make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 8});
  auto links = random_uplinks(whole, 1.0, 1);
  links.resize(kGone);
  const auto fabric = without_cables(whole, links);
  const auto demand = demand::make_shift(fabric.nics(), 8, Bytes(10'000'000));
  // At one QP 8 flows over 7 or 6 uplinks: two or four of them share one, the others do not.
  const auto ours = flowsim::simulate(fabric, demand, {flowsim::Spread::weft, 1}, {});
  EXPECT_LT(ours.mean_flow, 290e-6);  // 344 us when every uplink may carry what the busiest must
}

TEST(EvenOut, SlowQpsAreGatheredInFewFlowsWhichKeepDifferentRoutes) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 7, .hosts_per_leaf = 8});
  const auto phase = demand::make_shift(fabric.nics(), 8, Bytes(1'000'000)).phases[0];
  const auto answer = assign(fabric, phase, {.qps = 4});  // 32 QPs over 7 uplinks: four carry 5, three 4
  std::map<ChannelId, double> load;
  for (const SteeredQp& qp : answer.qps)
    for (const ChannelId channel : qp.route.channels()) load[channel] += qp.bytes;
  std::map<std::uint32_t, std::set<ChannelId>> uplinks;
  std::set<std::uint32_t> slow;
  for (const SteeredQp& qp : answer.qps) {
    uplinks[qp.flow].insert(qp.route.channels()[0]);
    for (const ChannelId channel : qp.route.channels())
      if (load[channel] > 1'100'000) slow.insert(qp.flow);
  }
  EXPECT_EQ(slow.size(), 10u);  // of 16: 20 slow QPs each way make five flows
  for (const auto& [flow, taken] : uplinks) EXPECT_GE(taken.size(), 3u) << flow;
}

TEST(EvenOut, ADegradedAllToAllIsAssignedQuicklyWithinItsBound) {
  const auto fabric = *make_clos({.leaves = 16, .spines = 16, .hosts_per_leaf = 16});
  const auto phase =
      make_collective(demand::Collective::all_to_all, fabric.nics(), Bytes(256'000'000)).phases[0];
  AssignOptions options{.qps = 4};
  options.avoid = without(random_uplinks(fabric, 0.02, 1));
  const auto answer = assign(fabric, phase, options);  // 250,000 QPs: minutes, were they searched one by one
  EXPECT_DOUBLE_EQ(answer.load.ratio, 1);
  EXPECT_EQ(answer.load.leaves_over_own_bound, 0u);
}

}  // namespace
}  // namespace weft::assign
