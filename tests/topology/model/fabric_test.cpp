#include "topology/model/fabric.hpp"

#include <gtest/gtest.h>

#include "topology/model/fabric_builder.hpp"

namespace weft {
namespace {

/// host1 -- leaf1 == spine1 (two parallel links).
Fabric small() {
  FabricBuilder builder("small", FabricKind::roce);
  const auto host = *builder.add_node({.name = "host1", .kind = NodeKind::host, .tier = Tier::host});
  const auto leaf = *builder.add_node({.name = "leaf1", .tier = Tier::leaf});
  const auto spine = *builder.add_node({.name = "spine1", .tier = Tier::spine});
  builder.connect(host, leaf, Bandwidth::gbit(400));
  builder.connect(leaf, spine, Bandwidth::gbit(400));
  builder.connect(leaf, spine, Bandwidth::gbit(400));
  return std::move(builder).build();
}

TEST(Fabric, NamesLinksAndChannelsByTheirNodesAndPortsWhereLinksAreParallel) {
  const Fabric fabric = small();
  EXPECT_EQ(fabric.name_of(LinkId(0)), "host1--leaf1");
  EXPECT_EQ(fabric.name_of(LinkId(1)), "leaf1/p2--spine1/p1");
  EXPECT_EQ(fabric.name_of(Fabric::b_to_a(LinkId(2))), "spine1/p2->leaf1/p3");
}

TEST(Fabric, EveryNameFindsItsOwner) {
  const Fabric fabric = small();
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l)
    EXPECT_EQ(fabric.find_link(fabric.name_of(LinkId(l))), LinkId(l));
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c)
    EXPECT_EQ(fabric.find_channel(fabric.name_of(ChannelId(c))), ChannelId(c));
  EXPECT_EQ(fabric.find_link("leaf1--host1"), LinkId(0));
  EXPECT_EQ(fabric.find_channel("leaf1->host1"), Fabric::b_to_a(LinkId(0)));
}

TEST(Fabric, AnAmbiguousOrUnknownNameIsRefusedWithWhatToWrite) {
  const Fabric fabric = small();
  EXPECT_EQ(fabric.find_link("leaf1--spine1").error().message,
            "'leaf1--spine1' names 2 parallel links: give the ports, as in leaf1/p2--spine1/p1");
  EXPECT_EQ(fabric.find_link("leaf1--spine9").error().kind, ErrorKind::not_found);
  EXPECT_FALSE(fabric.find_link("leaf1"));
  EXPECT_FALSE(fabric.find_link("leaf1/x--spine1"));
  EXPECT_FALSE(fabric.find_nic("leaf1"));
}

TEST(Fabric, TheTwoChannelsOfALinkAreEachOthersReverse) {
  const Fabric fabric = small();
  const auto up = *fabric.find_channel("host1->leaf1");
  EXPECT_EQ(fabric.name_of(Fabric::reverse(up)), "leaf1->host1");
  EXPECT_EQ(fabric.source(up), fabric.target(Fabric::reverse(up)));
  EXPECT_EQ(fabric.channel_from(fabric.source(up)), up);
  EXPECT_EQ(fabric.channel_into(fabric.target(up)), up);
}

TEST(FabricBuilder, RefusesWhatContradicts) {
  FabricBuilder builder("x", FabricKind::roce);
  const auto a = *builder.add_node({.name = "a"});
  const auto b = *builder.add_node({.name = "b"});
  EXPECT_FALSE(builder.add_node({.name = "a"}));
  EXPECT_FALSE(builder.add_node({.name = ""}));
  EXPECT_FALSE(builder.add_node({.name = "a--b"}));
  EXPECT_FALSE(builder.add_node({.name = "../etc"}));
  const auto p = builder.add_next_port(a);
  EXPECT_FALSE(builder.add_port(a, PortNumber(1)));
  EXPECT_FALSE(builder.add_link(p, builder.add_next_port(a), Bandwidth::gbit(1)));
  EXPECT_FALSE(builder.add_link(p, builder.add_next_port(b), Bandwidth()));
  EXPECT_TRUE(builder.add_link(p, builder.add_next_port(b), Bandwidth::gbit(1)));
  EXPECT_FALSE(builder.add_link(p, builder.add_next_port(b), Bandwidth::gbit(1)));
}

}  // namespace
}  // namespace weft
