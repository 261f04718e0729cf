#include "probes/discover/fabric_of_cables.hpp"

#include <gtest/gtest.h>

namespace weft::discover {
namespace {

const IpAddress kFirst = *IpAddress::parse("10.9.0.1");
const IpAddress kSecond = *IpAddress::parse("10.9.0.2");

FoundSources sources() {
  FoundSources in;
  in.hosts = {{"host1", {{"eth0", kFirst}, {"eth1", kSecond}}}};
  return in;
}

TEST(FabricOfCables, NodesStandInTheirTiersByHowFarTheyAreFromTheHosts) {
  const auto made = fabric_of_cables(
      sources(), {{{"tor-a", "e9"}, {"big", "e1"}}, {{"host1", "eth0"}, {"tor-a", "e1"}}}, {});
  ASSERT_TRUE(made) << made.error().message;
  const Fabric& fabric = made->fabric;
  EXPECT_EQ(fabric.node(*fabric.find_node("host1")).tier, Tier::host);
  EXPECT_EQ(fabric.node(*fabric.find_node("tor-a")).tier, Tier::leaf);
  EXPECT_EQ(fabric.node(*fabric.find_node("big")).tier, Tier::spine);
  EXPECT_EQ(fabric.link_count(), 2u);
}

TEST(FabricOfCables, ANicHasTheNumberOfItsPlaceInItsHostAndItsAddress) {
  const auto made = fabric_of_cables(sources(), {{{"host1", "eth1"}, {"tor-a", "e1"}}}, {});
  ASSERT_TRUE(made) << made.error().message;
  const auto nic = made->fabric.find_port("host1/p2");
  ASSERT_TRUE(nic) << nic.error().message;
  EXPECT_EQ(made->addresses.address_of(*nic), kSecond);
}

TEST(FabricOfCables, APortOfASwitchHasItsOwnNameOrItsOwnNumberAndItsAddress) {
  const IpAddress port = *IpAddress::parse("10.0.0.7");
  const auto made = fabric_of_cables(
      sources(), {{{"host1", "eth0"}, {"tor-a", "Ethernet1/6", port}}, {{"host1", "eth1"}, {"tor-a", "p7"}}},
      {});
  ASSERT_TRUE(made) << made.error().message;
  const auto named = made->fabric.find_port("tor-a/Ethernet1/6");
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(made->addresses.address_of(*named), port);
  const auto numbered = made->fabric.find_port("tor-a/p7");
  ASSERT_TRUE(numbered) << numbered.error().message;
  EXPECT_TRUE(made->fabric.port(*numbered).name.empty());
}

TEST(FabricOfCables, ACableWhoseRateNobodyToldHasTheOneGivenAndIsCounted) {
  auto in = sources();
  in.rate = Bandwidth::gbit(200);
  const auto made = fabric_of_cables(
      in, {{{"host1", "eth0"}, {"tor-a", "e1"}}, {{"host1", "eth1"}, {"tor-a", "e2"}, Bandwidth::gbit(100)}},
      {});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->rates_assumed, 1u);
  EXPECT_EQ(made->fabric.link(LinkId(0)).rate, Bandwidth::gbit(200));
  EXPECT_EQ(made->fabric.link(LinkId(1)).rate, Bandwidth::gbit(100));
}

TEST(FabricOfCables, WhatIsRefusedIsLeftOutAndNothingIsNoFabric) {
  std::vector<FoundCable> cables{{{"host1", "eth0"}, {"tor-a", "e1"}}, {{"host1", "eth1"}, {"tor-b", "e1"}}};
  cables[1].refused = true;
  const auto made = fabric_of_cables(sources(), cables, {});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->fabric.link_count(), 1u);
  EXPECT_FALSE(made->fabric.find_node("tor-b"));
  cables[0].refused = true;
  const auto none = fabric_of_cables(sources(), cables, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::invalid_input);
}

TEST(FabricOfCables, ANameThatNoNodeCanHaveIsAnError) {
  const auto made = fabric_of_cables(sources(), {{{"host1", "eth0"}, {"tor a", "e1"}}}, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::invalid_input);
}

TEST(FabricOfCables, WhatARecordCallsAHostIsOneUnlessAnotherSaysThatItForwards) {
  auto in = sources();
  in.listed.hosts = {"storage1", "router1"};
  in.listed.switches = {"router1"};
  EXPECT_TRUE(is_host(in, "host1"));
  EXPECT_TRUE(is_host(in, "storage1"));
  EXPECT_FALSE(is_host(in, "router1"));
  EXPECT_FALSE(is_host(in, "tor-a"));
}

}  // namespace
}  // namespace weft::discover
