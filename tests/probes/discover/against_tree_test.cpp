// A fabric held against what a scheduler believes of it.
#include "probes/discover/against_tree.hpp"

#include <gmock/gmock.h>

#include "topology/model/clos.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft::discover {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Switches = std::vector<files::SwitchOfTree>;

/// leaf1: host1, host2; leaf2: host3, host4; leaf3: host5, host6.
Fabric three_leaves() {
  return make_clos({.name = "f", .leaves = 3, .spines = 2, .hosts_per_leaf = 2}).value();
}

Fabric clos_of_three_a_leaf() {
  return make_clos({.name = "f", .leaves = 2, .spines = 2, .hosts_per_leaf = 3}).value();
}

/// Below one switch.
files::SwitchTree below_top(Switches switches) {
  files::SwitchAbove top{"top", {}};
  for (const auto& one : switches) top.children.push_back(one.name);
  return {"t.conf", std::move(switches), {}, {top}};
}

std::vector<std::string> said_of(const Fabric& fabric, Switches switches) {
  return compare_with_tree(fabric, below_top(std::move(switches))).disagreements;
}

TEST(AgainstTree, WhatIsSoIsNoDifferenceWhateverTheSwitchesAreCalled) {
  EXPECT_THAT(said_of(three_leaves(),
                      {{"a", {"host1", "host2"}}, {"b", {"host3", "host4"}}, {"c", {"host6", "host5"}}}),
              IsEmpty());
}

TEST(AgainstTree, AHostUnderAnotherSwitchIsNamedOnceWithBoth) {
  EXPECT_THAT(said_of(three_leaves(), {{"a", {"host1", "host2", "host3"}}, {"b", {"host4"}}}),
              ElementsAre("t.conf has them all under a: host1, host2 at leaf1, host3 at leaf2"));
}

TEST(AgainstTree, HostsOfOneSwitchThatTheTreeHasApartAreNamed) {
  EXPECT_THAT(
      said_of(three_leaves(), {{"a", {"host1"}}, {"b", {"host2"}}, {"c", {"host3", "host4"}}}),
      ElementsAre("t.conf has them apart, and hosts of theirs share leaf1: a (of host1), b (of host2)"));
}

TEST(AgainstTree, OneMistakeHidesNoOther) {
  EXPECT_THAT(
      said_of(three_leaves(),
              {{"a", {"host1", "host3", "host4"}}, {"b", {"host2"}}, {"c", {"host5"}}, {"d", {"host6"}}}),
      ElementsAre("t.conf has them all under a: host3, host4 at leaf2, host1 at leaf1",
                  "t.conf has them apart, and hosts of theirs share leaf3: c (of host5), d (of host6)"));
  EXPECT_THAT(said_of(three_leaves(),
                      {{"a", {"host1", "host3", "host2"}}, {"b", {"host4"}}, {"c", {"host5", "host6"}}}),
              ElementsAre("t.conf has them all under a: host1, host2 at leaf1, host3 at leaf2"));
  EXPECT_THAT(
      said_of(clos_of_three_a_leaf(), {{"a", {"host1", "host2", "host4"}}, {"b", {"host3"}}}),
      ElementsAre("t.conf has them all under a: host1, host2 at leaf1, host4 at leaf2",
                  "t.conf has them apart, and hosts of theirs share leaf1: a (of host1), b (of host3)"));
}

TEST(AgainstTree, NodesOfOneSideOnlyAreUnknownAndASwitchIsNoNode) {
  const auto compared = compare_with_tree(
      three_leaves(), below_top({{"a", {"host1", "cpu1", "host2"}}, {"b", {"host3", "host4", "leaf2"}}}));
  EXPECT_THAT(compared.gaps, ElementsAre("t.conf: 1 of its nodes were not found: cpu1",
                                         "t.conf: it has none of 2 hosts: host5, host6"));
  EXPECT_THAT(compared.disagreements, ElementsAre("t.conf has leaf2 as a node under b, and it is a switch"));
}

/// Pod 1: leaf1 (host1) and leaf2 (host2); pod 2: leaf3 and leaf4.
TEST(AgainstTree, HostsOfOnePodOfTheTreeShareASwitchTwoUp) {
  const Fabric fabric =
      make_pod_clos({.pods = 2, .leaves = 2, .spines = 2, .cores = 2, .hosts_per_leaf = 1}).value();
  const Switches leaves{{"l1", {"host1"}}, {"l2", {"host2"}}, {"l3", {"host3"}}, {"l4", {"host4"}}};
  using Above = std::vector<files::SwitchAbove>;
  const auto said = [&](Above above) {
    return compare_with_tree(fabric, {"t.conf", leaves, {}, std::move(above)}).disagreements;
  };
  EXPECT_THAT(said({{"top", {"p1", "p2"}}, {"p1", {"l1", "l2"}}, {"p2", {"l3", "l4"}}}), IsEmpty());
  EXPECT_THAT(said({{"top", {"l1", "l2", "l3", "l4"}}}), IsEmpty());
  const std::string nearer =
      "t.conf has host3 and host1, host2 together under p1, and the first are nearer to host4, which it has "
      "elsewhere";
  const Above wrong{{"p1", {"l1", "l2", "l3"}}, {"p2", {"l4"}}};
  Above topped = wrong;
  topped.push_back({"top", {"p1", "p2"}});
  EXPECT_THAT(said(topped), ElementsAre(nearer));
  EXPECT_THAT(said(wrong), ElementsAre(nearer, testing::HasSubstr("no switch above all of them")));
}

TEST(AgainstTree, WhatCablesJoinIsBelowOneSwitchAndNothingElseIs) {
  EXPECT_THAT(
      compare_with_tree(three_leaves(), {"t.conf", {{"a", {"host1", "host2"}}, {"b", {"host3", "host4"}}}})
          .disagreements,
      ElementsAre("t.conf has no switch above all of them, so no job of Slurm spans them, and cables "
                  "join them: host1, host2; host3, host4"));

  FabricBuilder builder("islands", FabricKind::roce);
  for (int i = 1; i <= 2; ++i) {
    const auto leaf = builder.add_node({fmt::format("leaf{}", i), NodeKind::switch_, Tier::leaf}).value();
    const auto spine = builder.add_node({fmt::format("spine{}", i), NodeKind::switch_, Tier::spine}).value();
    const auto host = builder.add_node({fmt::format("host{}", i), NodeKind::host, Tier::host}).value();
    for (const NodeId far : {spine, host}) {
      const auto here = builder.add_next_port(leaf), there = builder.add_next_port(far);
      ASSERT_TRUE(builder.add_link(here, there, Bandwidth::gbit(400)));
    }
  }
  EXPECT_THAT(said_of(std::move(builder).build(), {{"a", {"host1"}}, {"b", {"host2"}}}),
              ElementsAre("t.conf has them together under top, and no cables join them: host1; host2"));
}

TEST(AgainstTree, ANameWithADomainIsThatOfTheOneNodeWithout) {
  EXPECT_THAT(compare_with_tree(three_leaves(), {"t.conf",
                                                 {{"a", {"host1.dc.example", "host2"}},
                                                  {"b", {"host3", "host4.dc.example"}},
                                                  {"c", {"host5.a", "host6.b"}}}})
                  .gaps,
              IsEmpty());
}

TEST(AgainstTree, ANameWithoutADomainIsNoneOfSeveral) {
  FabricBuilder builder("f", FabricKind::roce);
  const NodeId leaf = builder.add_node({"leaf1", NodeKind::switch_, Tier::leaf}).value();
  for (const char* name : {"gpu1.a", "gpu2.a", "gpu2.b"}) {
    const auto host = builder.add_node({name, NodeKind::host, Tier::host}).value();
    const auto nic = builder.add_next_port(host), port = builder.add_next_port(leaf);
    ASSERT_TRUE(builder.add_link(nic, port, Bandwidth::gbit(400)));
  }
  const Fabric fabric = std::move(builder).build();
  EXPECT_THAT(compare_with_tree(fabric, {"t.conf", {{"leaf1", {"gpu1", "gpu2"}}}}).gaps,
              ElementsAre("t.conf: 1 of its nodes were not found: gpu2",
                          "t.conf: it has none of 2 hosts: gpu2.a, gpu2.b"));
}

/// Two groups of two rails: host1 and host2 at both leaves of the first.
TEST(AgainstTree, WithRailsHostsBelongTogetherByAnySwitchThatTheyShare) {
  FabricBuilder builder("rails", FabricKind::roce);
  std::vector<NodeId> leaves, hosts;
  for (int i = 1; i <= 4; ++i)
    leaves.push_back(builder.add_node({fmt::format("leaf{}", i), NodeKind::switch_, Tier::leaf}).value());
  for (int i = 1; i <= 4; ++i)
    hosts.push_back(builder.add_node({fmt::format("host{}", i), NodeKind::host, Tier::host}).value());
  for (std::size_t h = 0; h < 4; ++h)
    for (std::size_t rail = 0; rail < 2; ++rail) {
      if (h == 1 && rail == 0) continue;  // a cable that was not found
      const auto nic = builder.add_next_port(hosts[h]),
                 port = builder.add_next_port(leaves[2 * (h / 2) + rail]);
      ASSERT_TRUE(builder.add_link(nic, port, Bandwidth::gbit(400)));
    }
  const Fabric fabric = std::move(builder).build();
  EXPECT_THAT(said_of(fabric, {{"a", {"host1", "host2"}}, {"b", {"host3", "host4"}}}), IsEmpty());
  EXPECT_THAT(
      said_of(fabric, {{"a", {"host1", "host2", "host3"}}}),
      ElementsAre("t.conf has them all under a: host1, host2 at leaf1, leaf2, host3 at leaf3, leaf4"));
  EXPECT_THAT(
      said_of(fabric, {{"a", {"host3"}}, {"b", {"host4"}}}),
      ElementsAre(
          "t.conf has them apart, and hosts of theirs share leaf3, leaf4: a (of host3), b (of host4)"));
}

}  // namespace
}  // namespace weft::discover
