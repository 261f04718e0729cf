// Properties of an assignment that a user counts on: the bound is met, loads add up, nothing to avoid is
// used.
#include "balancer/assign/assign.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "balancer/demand/collectives.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/traffic.hpp"
#include "topology/model/clos.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft::assign {
namespace {

/// Each QP's route leads from its source's leaf to its destination's, channel by channel.
void expect_routes_join(const Fabric& fabric, const demand::Phase& phase, const PhaseAssignment& answer) {
  for (const SteeredQp& qp : answer.qps) {
    NodeId at = fabric.target_node(*fabric.channel_from(phase.flows[qp.flow].src));
    for (const ChannelId channel : qp.route.channels()) {
      ASSERT_EQ(fabric.source_node(channel), at);
      at = fabric.target_node(channel);
    }
    ASSERT_EQ(at, fabric.target_node(*fabric.channel_from(phase.flows[qp.flow].dst)));
  }
}

void expect_bytes_add_up(const demand::Phase& phase, const PhaseAssignment& answer) {
  std::vector<double> bytes(phase.flows.size());
  for (const SteeredQp& qp : answer.qps) bytes[qp.flow] += qp.bytes;
  for (std::size_t f = 0; f < bytes.size(); ++f)
    ASSERT_NEAR(bytes[f], static_cast<double>(phase.flows[f].bytes.count()), 1e-3);
}

void expect_at_bound(const Fabric& fabric, const demand::Phase& phase, const AssignOptions& options) {
  const auto answer = assign(fabric, phase, options);
  EXPECT_TRUE(answer.unassigned.empty());
  EXPECT_NEAR(answer.load.ratio, 1.0, 1e-9);
  EXPECT_EQ(answer.load.leaves_over_own_bound, 0u);
  expect_routes_join(fabric, phase, answer);
  expect_bytes_add_up(phase, answer);
}

TEST(Assign, AHealthyTwoTierFabricCarriesEveryPermutationAtTheBound) {
  const auto fabric = *make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 8});
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    for (const std::uint32_t qps : {1U, 3U, 4U})
      expect_at_bound(fabric, cross_leaf_permutation(fabric, seed), {.qps = qps});
}

TEST(Assign, AHealthyThreeTierFabricCarriesEveryPermutationAtTheBound) {
  const auto fabric = *make_pod_clos({.pods = 4, .leaves = 4, .spines = 4, .cores = 16, .hosts_per_leaf = 4});
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    for (const std::uint32_t qps : {1U, 2U})
      expect_at_bound(fabric, cross_leaf_permutation(fabric, seed), {.qps = qps});
}

TEST(Assign, AnOversubscribedAndAnOddFabricAreAtTheBoundToo) {
  for (const std::uint32_t spines : {1U, 3U, 5U, 6U}) {
    const auto fabric = *make_clos({.leaves = 7, .spines = spines, .hosts_per_leaf = 8});
    expect_at_bound(fabric, cross_leaf_permutation(fabric, 1), {.qps = 4});
  }
}

TEST(Assign, RailsAreAtTheBoundWithAndWithoutPods) {
  const auto flat = *make_rails({.groups = 4, .hosts_per_group = 4, .rails = 2, .spines = 4});
  expect_at_bound(flat, cross_leaf_permutation(flat, 1), {.qps = 2});
  const auto pods =
      *make_rails({.groups = 2, .hosts_per_group = 4, .rails = 2, .spines = 4, .pods = 2, .cores = 8});
  expect_at_bound(pods, cross_leaf_permutation(pods, 1), {.qps = 2});
}

TEST(Assign, EveryCollectiveIsAtTheBoundInEveryPhase) {
  const auto fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  for (const auto name : {"ring", "recursive-doubling", "halving-doubling", "tree", "all-to-all",
                          "reduce-scatter", "all-gather", "pipeline"}) {
    const auto demand =
        make_hierarchical(fabric, fabric.hosts(), *demand::parse_collective(name), Bytes(1 << 20));
    const auto answer = assign(fabric, demand, {.qps = 2});
    EXPECT_NEAR(answer.ratio(), 1.0, 1e-9) << name;
  }
}

TEST(Assign, WithUplinksDownEveryLeafIsAtItsOwnBoundAndTheDeadOnesAreUnused) {
  const auto fabric = *make_clos({.leaves = 12, .spines = 12, .hosts_per_leaf = 11});
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(draws(10)); ++seed)
    for (const std::uint32_t qps : {1U, 4U}) {
      AssignOptions options{.qps = qps};
      const auto down = random_uplinks(fabric, 0.03, seed);
      options.avoid = without(down);
      const auto phase = cross_leaf_permutation(fabric, seed);
      expect_at_bound(fabric, phase, options);
      for (const SteeredQp& qp : assign(fabric, phase, options).qps)
        for (const ChannelId channel : qp.route.channels())
          EXPECT_EQ(std::ranges::count(down, Fabric::link_of(channel)), 0);
    }
}

TEST(Assign, AThreeTierFabricWithCablesDownStaysAtTheBound) {
  const auto fabric = *make_pod_clos({.pods = 4, .leaves = 4, .spines = 4, .cores = 16, .hosts_per_leaf = 4});
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(draws(10)); ++seed) {
    AssignOptions options{.qps = 4};
    options.avoid = without(random_uplinks(fabric, 0.03, seed));
    const auto answer = assign(fabric, cross_leaf_permutation(fabric, seed), options);
    EXPECT_NEAR(answer.load.ratio, 1.0, 1e-9) << seed;
  }
}

/// Two leaves, two spines, three cables between each leaf and spine of which the third is half as fast.
Fabric uneven() {
  FabricBuilder builder("uneven", FabricKind::roce);
  std::vector<NodeId> leaves, spines;
  for (const char* name : {"leaf1", "leaf2"}) leaves.push_back(*builder.add_node({.name = name}));
  for (const char* name : {"spine1", "spine2"})
    spines.push_back(*builder.add_node({.name = name, .tier = Tier::spine}));
  for (int h = 1; h <= 20; ++h) {
    const auto host =
        *builder.add_node({.name = fmt::format("host{}", h), .kind = NodeKind::host, .tier = Tier::host});
    builder.connect(host, leaves[h > 10 ? 1 : 0], Bandwidth::gbit(400));
  }
  for (const NodeId leaf : leaves)
    for (const NodeId spine : spines)
      for (const double rate : {400, 400, 200}) builder.connect(leaf, spine, Bandwidth::gbit(rate));
  return std::move(builder).build();
}

TEST(Assign, ParallelAndSlowerLinksAreLoadedByTheirSpeed) {
  const auto fabric = uneven();
  const auto phase = demand::make_shift(fabric.nics(), 10, Bytes(1000)).phases[0];
  const auto answer = assign(fabric, phase, {});
  // 10 flows over four channels of weight 1 and two of 1/2: the least t with 4 floor(t) + 2 floor(t/2) >= 10
  // is 2.
  EXPECT_DOUBLE_EQ(answer.bounds.integral, 2000);
  EXPECT_DOUBLE_EQ(answer.bounds.fractional, 2000);
  EXPECT_DOUBLE_EQ(answer.load.busiest, 2000);
  expect_routes_join(fabric, phase, answer);
}

TEST(Assign, ADegradedChannelIsLoadedByTheShareLeft) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 3});
  AssignOptions options;
  options.avoid = {{*fabric.find_channel("leaf1->spine1"), 0.5}};
  const auto answer = assign(fabric, demand::make_shift(fabric.nics(), 3, Bytes(1000)).phases[0], options);
  std::ptrdiff_t slow = 0;
  for (const SteeredQp& qp : answer.qps)
    slow += std::ranges::count(qp.route.channels(), *fabric.find_channel("leaf1->spine1"));
  EXPECT_EQ(slow, 1);
  EXPECT_DOUBLE_EQ(answer.load.busiest, 2000);
}

TEST(Assign, WhatCannotBeAssignedIsNamedAndTheRestIs) {
  const auto fabric = *make_clos({.leaves = 3, .spines = 1, .hosts_per_leaf = 1});
  const auto nics = fabric.nics();
  const demand::Phase phase{
      "", {{nics[0], nics[1], Bytes(5)}, {nics[2], nics[2], Bytes(5)}, {nics[0], nics[2], Bytes(5)}}};
  AssignOptions options;
  options.avoid = {{*fabric.find_channel("spine1->leaf3")}};
  const auto answer = assign(fabric, phase, options);
  ASSERT_EQ(answer.unassigned.size(), 2u);
  EXPECT_EQ(answer.unassigned[0].flow, "host3 -> host3");
  EXPECT_EQ(answer.unassigned[0].why, "source and destination are the same NIC");
  EXPECT_EQ(answer.unassigned[1].flow, "host1 -> host3");
  EXPECT_EQ(answer.unassigned[1].why, "no usable path from leaf1 to leaf3: the fabric is cut between them");
  ASSERT_EQ(answer.qps.size(), 1u);
  EXPECT_DOUBLE_EQ(answer.load.ratio, 1);
}

/// A switch per name, in a row of cables; a host at both ends.
Fabric row_of(std::initializer_list<Tier> tiers) {
  FabricBuilder builder("row", FabricKind::infiniband);
  std::optional<NodeId> before;
  for (const Tier tier : tiers) {
    const auto number = before ? before->value() + 2 : 1;
    const NodeId node = builder.add_node({.name = fmt::format("sw{}", number), .tier = tier}).value();
    if (before) builder.connect(*before, node, Bandwidth::gbit(200));
    before = node;
  }
  for (const NodeId end : {NodeId(0), *before})
    builder.connect(
        builder
            .add_node(
                {.name = fmt::format("host{}", end.value()), .kind = NodeKind::host, .tier = Tier::host})
            .value(),
        end, Bandwidth::gbit(200));
  return std::move(builder).build();
}

TEST(Assign, OfAShapeThatIsNotSupportedIsSaidWhichAndNotThatItIsCut) {
  const auto why = [](const Fabric& fabric) {
    const auto answer = assign(fabric, demand::make_shift(fabric.nics(), 1, Bytes(5)).phases[0], {});
    return answer.unassigned.empty() ? std::string() : answer.unassigned[0].why;
  };
  using enum Tier;
  EXPECT_EQ(why(row_of({leaf, spine, core, spine, leaf})), "");
  EXPECT_THAT(why(row_of({leaf, leaf, leaf})), ::testing::HasSubstr("a torus, a Dragonfly"));
  EXPECT_THAT(why(row_of({leaf, spine, core, tier4, core, spine, leaf})),
              ::testing::HasSubstr("a tree of more than three levels, which is not supported"));
}

TEST(Assign, AHostWhoseCableIsToBeAvoidedIsNamed) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1});
  AssignOptions options;
  options.avoid = {{*fabric.find_channel("leaf2->host2")}};
  const auto answer = assign(fabric, demand::make_shift(fabric.nics(), 1, Bytes(5)).phases[0], options);
  ASSERT_EQ(answer.unassigned.size(), 1u);
  EXPECT_EQ(answer.unassigned[0].why, "leaf2->host2 is to be avoided");
}

TEST(Assign, TheSameSeedGivesTheSameAnswer) {
  const auto fabric = *make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 7});
  AssignOptions options{.qps = 3, .seed = 9};
  options.avoid = without(random_uplinks(fabric, 0.05, 1));
  const auto phase = cross_leaf_permutation(fabric, 4);
  const auto one = assign(fabric, phase, options);
  const auto other = assign(fabric, phase, options);
  for (std::size_t i = 0; i < one.qps.size(); ++i) ASSERT_EQ(one.qps[i].route, other.qps[i].route);
}

TEST(Assign, RenamingSwitchesChangesNoRatio) {
  // The same fabric with its hosts sent to renumbered leaves: flows between the images of the leaves.
  const auto fabric = *make_clos({.leaves = 6, .spines = 6, .hosts_per_leaf = 5});
  const auto phase = cross_leaf_permutation(fabric, 2);
  const auto nics = fabric.nics();
  const auto image = [&](PortId nic) {
    const auto at = static_cast<std::size_t>(std::ranges::find(nics, nic) - nics.begin());
    return nics[(at + 15) % nics.size()];
  };
  demand::Phase renamed{"", {}};
  for (const demand::Flow& flow : phase.flows)
    renamed.flows.push_back({image(flow.src), image(flow.dst), flow.bytes});
  const auto down = *fabric.find_link("leaf1--spine1");
  const auto its_image = *fabric.find_link("leaf4--spine1");
  AssignOptions before{.qps = 2}, after{.qps = 2};
  before.avoid = without({&down, 1});
  after.avoid = without({&its_image, 1});
  EXPECT_DOUBLE_EQ(assign(fabric, phase, before).load.ratio, assign(fabric, renamed, after).load.ratio);
}

TEST(Assign, TheWayBackIsBalancedToo) {
  const auto fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  const auto phase = cross_leaf_permutation(fabric, 1);
  const auto answer = assign(fabric, phase, {.qps = 2, .reverse = true});
  ASSERT_TRUE(answer.reverse_load);
  EXPECT_DOUBLE_EQ(answer.reverse_load->ratio, 1);
  for (const SteeredQp& qp : answer.qps) {
    ASSERT_TRUE(qp.reverse);
    EXPECT_EQ(fabric.source_node(qp.reverse->route.channels().front()),
              fabric.target_node(qp.route.channels().back()));
  }
}

}  // namespace
}  // namespace weft::assign
