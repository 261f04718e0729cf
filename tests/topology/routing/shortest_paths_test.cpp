#include "topology/routing/shortest_paths.hpp"

#include <gtest/gtest.h>

#include "topology/model/clos.hpp"

namespace weft::routing {
namespace {

TEST(ShortestPaths, LeadUpToEverySpineAndDownByOneChannel) {
  const auto fabric = *make_clos({.leaves = 3, .spines = 4, .hosts_per_leaf = 2});
  ShortestPaths paths(fabric, *fabric.find_node("leaf2"));
  EXPECT_EQ(paths.next(*fabric.find_node("leaf1")).size(), 4u);
  ASSERT_EQ(paths.next(*fabric.find_node("spine3")).size(), 1u);
  EXPECT_EQ(fabric.name_of(paths.next(*fabric.find_node("spine3"))[0]), "spine3->leaf2");
  EXPECT_EQ(paths.hops(*fabric.find_node("host1")), 3u);
}

TEST(ShortestPaths, DoNotPassThroughHosts) {
  const auto fabric = *make_rails({.groups = 1, .hosts_per_group = 1, .rails = 2, .spines = 1});
  ShortestPaths paths(fabric, *fabric.find_node("leaf2"));
  EXPECT_EQ(paths.hops(*fabric.find_node("leaf1")),
            2u);  // over spine1, not through host1, which has a NIC on both
  EXPECT_EQ(fabric.name_of(edge_switch(fabric, *fabric.find_nic("host1/p2"))), "leaf2");
}

TEST(ShortestPaths, AcrossPodsClimbToTheCoresOfTheSpinesPlane) {
  const auto fabric = *make_pod_clos({.pods = 2, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 1});
  ShortestPaths paths(fabric, *fabric.find_node("leaf3"));
  EXPECT_EQ(paths.hops(*fabric.find_node("leaf1")), 4u);
  EXPECT_EQ(paths.next(*fabric.find_node("spine1")).size(), 2u);
}

}  // namespace
}  // namespace weft::routing
