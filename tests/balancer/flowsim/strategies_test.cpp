#include "balancer/flowsim/strategies.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "balancer/demand/collectives.hpp"
#include "balancer/flowsim/completion_plot.hpp"
#include "topology/model/clos.hpp"

namespace weft::flowsim {
namespace {

TEST(Simulate, TheBalancerEndsAShiftAtTheOptimumAndHashingDoesNot) {
  const auto fabric = *make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 8});
  const auto demand = demand::make_shift(fabric.nics(), 8, Bytes(10'000'000));
  const auto ours = simulate(fabric, demand, {Spread::weft, 1}, {});
  EXPECT_NEAR(ours.seconds, 10e6 * 8 / 400e9, 1e-9);
  EXPECT_NEAR(ours.over_bound, 1, 1e-9);
  const auto sprayed = simulate(fabric, demand, {Spread::spray, 1}, {});
  EXPECT_NEAR(sprayed.over_bound, 1, 1e-9);
  double before = 100;
  for (const std::uint32_t qps : {1U, 4U, 16U}) {
    double mean = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed)
      mean += simulate(fabric, demand, {Spread::ecmp, qps}, {.seed = seed}).over_bound / 10;
    EXPECT_GT(mean, 1.4);
    EXPECT_LT(mean, before);  // more QPs hash more evenly
    before = mean;
  }
}

TEST(Simulate, PhasesFollowOneAnother) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  const auto demand =
      make_collective(demand::Collective::recursive_doubling, fabric.nics(), Bytes(1'000'000));
  const auto outcome = simulate(fabric, demand, {Spread::weft, 1}, {});
  EXPECT_NEAR(outcome.seconds, 2 * 8e6 / 400e9, 1e-12);  // one step in the leaf, one across
}

TEST(Simulate, ADeadLinkIsNotUsedByAnyStrategy) {
  const auto fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  const auto link = *fabric.find_link("leaf1--spine1");
  const assign::AssignOptions options{.avoid = assign::without({&link, 1})};
  const auto demand = demand::make_shift(fabric.nics(), 4, Bytes(1'000'000));
  for (const Strategy& strategy : usual_strategies())
    EXPECT_TRUE(std::isfinite(simulate(fabric, demand, strategy, options).seconds)) << describe(strategy);
}

TEST(CompletionPlot, HasABarForEveryStrategyAndEscapesItsTitle) {
  const auto plot =
      completion_plot("a < b & c", {{{Spread::ecmp, 4}, 2, 1, 2}, {{Spread::weft, 1}, 1, 1, 1}});
  EXPECT_THAT(plot, testing::HasSubstr("a &lt; b &amp; c"));
  EXPECT_THAT(plot, testing::HasSubstr("ECMP, 4 QPs"));
  EXPECT_THAT(plot, testing::HasSubstr("1s, 1.00 x optimum"));
}

}  // namespace
}  // namespace weft::flowsim
