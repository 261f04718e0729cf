#include "balancer/assign/solve_equal.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "balancer/assign/phase_solver.hpp"
#include "tests/support/traffic.hpp"
#include "topology/model/clos.hpp"

namespace weft::assign {
namespace {

/// A permutation across leaves, solved.
struct Solved {
  Solved(const Fabric& fabric, const AssignOptions& options, std::uint64_t traffic = 1)
      : ground(fabric, options),
        instance(make_instance(fabric, ground.capacities, ground.routes,
                               cross_leaf_permutation(fabric, traffic).flows, options.qps, nullptr)) {
    if (!ground.regular()) instance.fill_routes(ground.routes);
    bounds = bounds_of(instance, ground.routes, ground.regular());
    taken = solve_equal(instance, ground.routes, ground.skeleton, bounds, options.seed);
  }

  double busiest() const {
    std::vector<double> load(ground.fabric.channel_count());
    for (ItemId item = 0; item < taken.size(); ++item)
      for (const ChannelId channel : taken[item].channels()) load[channel.value()] += instance.bytes_of(item);
    return std::ranges::max(load);
  }
  /// Each item goes from the leaf of its sender to that of its receiver, by channels that may be used.
  bool all_arrive() const {
    for (ItemId item = 0; item < taken.size(); ++item) {
      const FlowGroup& group = instance.groups[instance.crossing_of(item).group];
      const auto ways = ground.routes.between(group.from, group.to);
      if (std::ranges::find(ways, taken[item]) == ways.end()) return false;
    }
    return taken.size() == instance.item_count();
  }

  Ground ground;
  Instance instance;
  Bounds bounds;
  std::vector<SwitchRoute> taken;
};

TEST(SolveEqual, MeetsTheBoundExactlyInAWholeFabric) {
  const auto two_tiers = *make_clos({.leaves = 8, .spines = 4, .hosts_per_leaf = 6});
  const auto three_tiers =
      *make_pod_clos({.pods = 2, .leaves = 4, .spines = 4, .cores = 8, .hosts_per_leaf = 4});
  for (const Fabric* fabric : {&two_tiers, &three_tiers})
    for (const std::uint32_t qps : {1u, 3u, 4u})
      for (std::uint64_t traffic = 1; traffic <= 3; ++traffic) {
        const Solved solved(*fabric, {.qps = qps}, traffic);
        ASSERT_TRUE(solved.instance.equal);
        EXPECT_TRUE(solved.all_arrive());
        EXPECT_NEAR(solved.busiest(), solved.bounds.integral, 1e-3) << qps << " QPs, traffic " << traffic;
      }
}

TEST(SolveEqual, WhereCablesAreMissingItStaysNearTheBound) {
  const auto fabric = *make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 8});
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    auto links = random_uplinks(fabric, 1.0, seed);
    links.resize(6);
    const auto rest = without_cables(fabric, links);
    const Solved solved(rest, {.qps = 2, .seed = seed}, seed);
    EXPECT_TRUE(solved.all_arrive());
    EXPECT_GE(solved.busiest(), solved.bounds.fractional - 1e-3) << "no assignment can beat it";
    EXPECT_LE(solved.busiest(), solved.bounds.integral + solved.instance.quantum + 1e-3) << "seed " << seed;
  }
}

TEST(SolveEqual, TheSameSeedGivesTheSameRoutes) {
  const auto whole = *make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 8});
  auto links = random_uplinks(whole, 1.0, 1);
  links.resize(6);
  const auto fabric = without_cables(whole, links);
  const AssignOptions options{.qps = 4, .seed = 7};
  EXPECT_EQ(Solved(fabric, options).taken, Solved(fabric, options).taken);
}

TEST(SolveEqual, NothingToSendNeedsNoRoute) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  const Ground ground(fabric, {});
  auto instance = make_instance(fabric, ground.capacities, ground.routes, {}, 1, nullptr);
  const auto bounds = bounds_of(instance, ground.routes, ground.regular());
  EXPECT_TRUE(solve_equal(instance, ground.routes, ground.skeleton, bounds, 1).empty());
}

}  // namespace
}  // namespace weft::assign
