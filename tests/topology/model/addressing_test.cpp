#include "topology/model/addressing.hpp"

#include <gtest/gtest.h>

#include <set>

#include "topology/model/fabric_builder.hpp"
#include "topology/model/lab_settings.hpp"

namespace weft {
namespace {

/// Two leaves, two spines, `hosts` hosts a leaf; every second host link is named the other way round.
Fabric small_clos(int hosts) {
  FabricBuilder builder("small", FabricKind::roce);
  const auto add = [&](std::string name, NodeKind kind, Tier tier) {
    return *builder.add_node({.name = std::move(name), .kind = kind, .tier = tier});
  };
  const NodeId spine1 = add("spine1", NodeKind::switch_, Tier::spine);
  const NodeId spine2 = add("spine2", NodeKind::switch_, Tier::spine);
  int next_host = 1;
  for (int leaf_number = 1; leaf_number <= 2; ++leaf_number) {
    const NodeId leaf = add(fmt::format("leaf{}", leaf_number), NodeKind::switch_, Tier::leaf);
    for (int i = 0; i < hosts; ++i) {
      const NodeId host = add(fmt::format("host{}", next_host++), NodeKind::host, Tier::host);
      i % 2 == 0 ? builder.connect(host, leaf, Bandwidth::gbit(400))
                 : builder.connect(leaf, host, Bandwidth::gbit(400));
    }
    builder.connect(leaf, spine1, Bandwidth::gbit(400));
    builder.connect(leaf, spine2, Bandwidth::gbit(200));
  }
  return std::move(builder).build();
}

std::string address_of(const Fabric& fabric, const AddressPlan& plan, std::string_view port) {
  return to_string(plan.book.address_of(*fabric.find_port(port)).value());
}

TEST(Addressing, GivesEveryCabledPortAnAddressOfItsOwnThatLeadsBackToIt) {
  const Fabric fabric = small_clos(5);
  for (const IpFamily family : {IpFamily::v4, IpFamily::v6}) {
    const AddressPlan plan = plan_addresses(fabric, family).value();
    std::set<IpAddress> seen;
    for (std::uint32_t i = 0; i < fabric.port_count(); ++i) {
      const auto address = plan.book.address_of(PortId(i));
      ASSERT_TRUE(address);
      EXPECT_EQ(address->is_v6(), family == IpFamily::v6);
      EXPECT_TRUE(seen.insert(*address).second);
      EXPECT_EQ(plan.book.port_of(*address), PortId(i));
    }
  }
}

TEST(Addressing, PutsTheTwoEndsOfALinkIntoOneSubnetOfTwoAddresses) {
  const Fabric fabric = small_clos(3);
  for (const IpFamily family : {IpFamily::v4, IpFamily::v6}) {
    const AddressPlan plan = plan_addresses(fabric, family).value();
    for (const Link& link : fabric.links()) {
      const std::size_t last = family == IpFamily::v4 ? 3 : 15;
      IpAddress::V6 a = plan.book.address_of(link.a)->bytes();
      IpAddress::V6 b = plan.book.address_of(link.b)->bytes();
      EXPECT_EQ(a[last] ^ b[last], 1);
      a[last] = b[last] = 0;
      EXPECT_EQ(a, b);
    }
  }
}

TEST(Addressing, GivesTheHostsOfALeafAddressesOfOneReadableBlock) {
  const Fabric fabric = small_clos(4);
  const AddressPlan plan = plan_addresses(fabric, IpFamily::v4).value();
  EXPECT_EQ(to_string(plan.host_block[fabric.find_node("leaf2")->value()].value()), "10.0.2.0/24");
  EXPECT_FALSE(plan.host_block[fabric.find_node("spine1")->value()]);
  EXPECT_EQ(address_of(fabric, plan, "host1/p1"), "10.0.1.1");
  EXPECT_EQ(address_of(fabric, plan, "host2/p1"), "10.0.1.3");
  EXPECT_EQ(address_of(fabric, plan, "host8/p1"), "10.0.2.7");
  EXPECT_EQ(address_of(fabric, plan, "spine1/p1"), "10.128.0.1");
  const AddressPlan v6 = plan_addresses(fabric, IpFamily::v6).value();
  EXPECT_EQ(to_string(v6.host_block[fabric.find_node("leaf2")->value()].value()),
            "fd00:77:6566:7401::200/120");
  EXPECT_EQ(address_of(fabric, v6, "host8/p1"), "fd00:77:6566:7401::207");
}

TEST(Addressing, WidensTheBlockOfALeafWithManyHosts) {
  const Fabric fabric = small_clos(200);
  const AddressPlan plan = plan_addresses(fabric, IpFamily::v4).value();
  EXPECT_EQ(to_string(plan.host_block[fabric.find_node("leaf1")->value()].value()), "10.0.2.0/23");
  EXPECT_EQ(address_of(fabric, plan, "host200/p1"), "10.0.3.143");
}

TEST(Addressing, KnowsNoPortForAStrangeAddress) {
  const AddressPlan plan = plan_addresses(small_clos(1), IpFamily::v4).value();
  EXPECT_FALSE(plan.book.port_of(*IpAddress::parse("10.0.1.9")));
  EXPECT_FALSE(plan.book.port_of(*IpAddress::parse("fd00::1")));
  EXPECT_FALSE(plan.book.address_of(PortId(1000)));
}

TEST(LabSettings, ScaleEveryLinkInProportionToTheFastest) {
  const Fabric fabric = small_clos(1);
  const LabSettings settings{.link_rate = Bandwidth::mbit(50)};
  EXPECT_EQ(lab_rate(fabric, settings, *fabric.find_link("leaf1--spine1")), Bandwidth::mbit(50));
  EXPECT_EQ(lab_rate(fabric, settings, *fabric.find_link("leaf1--spine2")), Bandwidth::mbit(25));
  EXPECT_FALSE(lab_rate(fabric, {.link_rate = std::nullopt}, LinkId(0)));
}

TEST(LabSettings, GiveAFabricWithTheRatesOfTheLabAndTheSameIdsAndNames) {
  const Fabric fabric = small_clos(2);
  const Fabric in_lab = with_lab_rates(fabric, {.link_rate = Bandwidth::mbit(80)});
  ASSERT_EQ(in_lab.link_count(), fabric.link_count());
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i)
    EXPECT_EQ(in_lab.name_of(LinkId(i)), fabric.name_of(LinkId(i)));
  EXPECT_EQ(in_lab.link(*in_lab.find_link("leaf2--spine2")).rate, Bandwidth::mbit(40));
  EXPECT_EQ(with_lab_rates(fabric, {.link_rate = std::nullopt}).link(LinkId(0)).rate, Bandwidth::gbit(400));
}

}  // namespace
}  // namespace weft
