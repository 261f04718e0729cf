#include "topology/model/clos.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

std::size_t count(const Fabric& fabric, Tier tier) {
  std::size_t n = 0;
  for (const Node& node : fabric.nodes()) n += node.tier == tier;
  return n;
}

TEST(Clos, TwoTiersJoinEveryLeafToEverySpineAndHostsInTheOrderOfLeaves) {
  const auto fabric = make_clos({.leaves = 4, .spines = 3, .hosts_per_leaf = 2});
  ASSERT_TRUE(fabric);
  EXPECT_EQ(count(*fabric, Tier::host), 8u);
  EXPECT_EQ(fabric->link_count(), 8u + 12u);
  EXPECT_TRUE(fabric->find_link("leaf4--spine3"));
  EXPECT_TRUE(fabric->find_link("host3--leaf2"));
  EXPECT_FALSE(fabric->find_link("host3--leaf1"));
}

TEST(Clos, ThreeTiersJoinSpineIOfEachPodToTheIthShareOfTheCores) {
  const auto fabric = make_pod_clos({.pods = 3, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 1});
  ASSERT_TRUE(fabric);
  EXPECT_EQ(fabric->link_count(), 6u + 12u + 12u);
  EXPECT_TRUE(fabric->find_link("spine3--core1"));  // pod 2, spine 1 of it
  EXPECT_TRUE(fabric->find_link("spine3--core2"));
  EXPECT_FALSE(fabric->find_link("spine3--core3"));
  EXPECT_EQ(fabric->node(*fabric->find_node("spine4")).pod, 2u);
  EXPECT_EQ(fabric->node(*fabric->find_node("core3")).plane, 2u);
}

TEST(Clos, RailsPutNicROfEachHostOnLeafROfItsGroup) {
  const auto fabric = make_rails({.groups = 2, .hosts_per_group = 3, .rails = 4, .spines = 2});
  ASSERT_TRUE(fabric);
  EXPECT_EQ(fabric->nics().size(), 2u * 3u * 4u);
  const auto nic = fabric->find_nic("host4/p3");
  ASSERT_TRUE(nic);
  EXPECT_EQ(fabric->name_of(fabric->target_node(*fabric->channel_from(*nic))), "leaf7");
}

TEST(Clos, A24576NicFabricIsBuiltAndAnAbsurdOneRefused) {
  EXPECT_TRUE(
      make_rails({.groups = 4, .hosts_per_group = 96, .rails = 8, .spines = 32, .pods = 8, .cores = 128}));
  const auto huge =
      make_clos({.leaves = 4'000'000'000, .spines = 4'000'000'000, .hosts_per_leaf = 4'000'000'000});
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().kind, ErrorKind::invalid_input);
}

TEST(Clos, NumbersThatMakeNoFabricAreRefused) {
  EXPECT_FALSE(make_clos({.leaves = 0, .spines = 1, .hosts_per_leaf = 1}));
  EXPECT_FALSE(make_pod_clos({.pods = 2, .leaves = 1, .spines = 2, .cores = 3, .hosts_per_leaf = 1}));
  EXPECT_FALSE(make_rails({.groups = 1, .hosts_per_group = 1, .rails = 2, .spines = 1, .pods = 2}));
}

}  // namespace
}  // namespace weft
