#include "topology/lab/netns/routes.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "topology/model/clos.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft::lab {
namespace {

/// The nodes that a switch's packets to `to` may go to next.
std::vector<std::string> next_from(const Fabric& fabric, std::string_view at, std::string_view to) {
  const auto routes = host_routes(fabric).value();
  std::vector<std::string> names;
  for (const HostRoute& route : routes[fabric.find_node(at)->value()]) {
    if (fabric.name_of(route.to) != to) continue;
    for (const PortId port : route.ports)
      names.push_back(fabric.name_of(fabric.target_node(fabric.channel_from(port).value())));
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(HostRoutes, OfTwoTiersGoByEverySpine) {
  const Fabric fabric = make_clos({.leaves = 3, .spines = 2, .hosts_per_leaf = 1}).value();
  EXPECT_EQ(next_from(fabric, "leaf1", "leaf3"), (Names{"spine1", "spine2"}));
  EXPECT_EQ(next_from(fabric, "spine2", "leaf3"), Names{"leaf3"});
  EXPECT_TRUE(next_from(fabric, "leaf3", "leaf3").empty()) << "its own hosts are its neighbours";
}

TEST(HostRoutes, OfThreeTiersGoOverTheCoreOnlyToAnotherPod) {
  const Fabric fabric =
      make_pod_clos({.pods = 2, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 1}).value();
  EXPECT_EQ(next_from(fabric, "leaf1", "leaf3"), (Names{"spine1", "spine2"}));
  EXPECT_EQ(next_from(fabric, "spine1", "leaf3"), (Names{"core1", "core2"}));
  EXPECT_EQ(next_from(fabric, "spine1", "leaf2"), Names{"leaf2"});
  EXPECT_EQ(next_from(fabric, "core4", "leaf1"), Names{"spine2"});
}

TEST(HostRoutes, NeverGoDownAndUpAgain) {
  FabricBuilder builder("holes", FabricKind::roce);
  const auto add = [&](const char* name, NodeKind kind, Tier tier) {
    return *builder.add_node({.name = name, .kind = kind, .tier = tier});
  };
  const NodeId leaf1 = add("leaf1", NodeKind::switch_, Tier::leaf);
  const NodeId leaf2 = add("leaf2", NodeKind::switch_, Tier::leaf);
  const NodeId spine1 = add("spine1", NodeKind::switch_, Tier::spine);
  const NodeId spine2 = add("spine2", NodeKind::switch_, Tier::spine);
  const Bandwidth rate = Bandwidth::gbit(1);
  builder.connect(leaf1, add("a", NodeKind::host, Tier::host), rate);
  builder.connect(leaf2, add("b", NodeKind::host, Tier::host), rate);
  builder.connect(leaf1, spine1, rate);
  builder.connect(leaf2, spine1, rate);
  builder.connect(leaf1, spine2, rate);
  const Fabric fabric = std::move(builder).build();
  EXPECT_EQ(next_from(fabric, "leaf1", "leaf2"), Names{"spine1"});
  EXPECT_TRUE(next_from(fabric, "spine2", "leaf2").empty()) << "only over leaf1, which is below";
}

TEST(HostRoutes, CountParallelCablesAsPathsOfTheirOwn) {
  FabricBuilder builder("bundle", FabricKind::roce);
  const auto add = [&](const char* name, NodeKind kind, Tier tier) {
    return *builder.add_node({.name = name, .kind = kind, .tier = tier});
  };
  const NodeId leaf1 = add("leaf1", NodeKind::switch_, Tier::leaf);
  const NodeId leaf2 = add("leaf2", NodeKind::switch_, Tier::leaf);
  const NodeId spine1 = add("spine1", NodeKind::switch_, Tier::spine);
  builder.connect(leaf1, add("a", NodeKind::host, Tier::host), Bandwidth::gbit(1));
  builder.connect(leaf2, add("b", NodeKind::host, Tier::host), Bandwidth::gbit(1));
  for (const NodeId leaf : {leaf1, leaf1, leaf2}) builder.connect(leaf, spine1, Bandwidth::gbit(1));
  const Fabric fabric = std::move(builder).build();
  EXPECT_EQ(next_from(fabric, "leaf1", "leaf2"), (Names{"spine1", "spine1"}));
}

TEST(HostRoutes, RefuseHostsThatDoNotReachEachOther) {
  FabricBuilder builder("islands", FabricKind::roce);
  for (const char* name : {"1", "2"}) {
    const auto leaf = *builder.add_node({.name = std::string("leaf") + name, .tier = Tier::leaf});
    const auto host =
        *builder.add_node({.name = std::string("host") + name, .kind = NodeKind::host, .tier = Tier::host});
    builder.connect(leaf, host, Bandwidth::gbit(1));
  }
  const auto routes = host_routes(std::move(builder).build());
  ASSERT_FALSE(routes);
  EXPECT_EQ(routes.error().kind, ErrorKind::not_supported);
  EXPECT_TRUE(routes.error().message.find("leaf1") != std::string::npos) << routes.error().message;
}

TEST(HostRoutes, RefuseACableBetweenTwoHosts) {
  FabricBuilder builder("pair", FabricKind::roce);
  const auto a = *builder.add_node({.name = "a", .kind = NodeKind::host, .tier = Tier::host});
  const auto b = *builder.add_node({.name = "b", .kind = NodeKind::host, .tier = Tier::host});
  builder.connect(a, b, Bandwidth::gbit(1));
  EXPECT_FALSE(host_routes(std::move(builder).build()));
}

}  // namespace
}  // namespace weft::lab
