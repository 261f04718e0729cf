#include "topology/files/ibnetdiscover.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "tests/fakes/fake_subnet.hpp"
#include "tests/places.hpp"
#include "tests/support/text_of.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft::files {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string small_dump() { return text_of(WEFT_SOURCE_DIR "/tests/data/small.ibnetdiscover"); }

InfinibandFabric fabric_of(std::string_view text) {
  const auto subnet = parse_ibnetdiscover(text);
  if (!subnet) ADD_FAILURE() << subnet.error().message;
  return build_infiniband_fabric(*subnet, "dump").value();
}

TEST(Ibnetdiscover, ReadsHostsOfTwoAdaptersManagedSwitchesAndAnySpeed) {
  const auto [fabric, inventory, remarks] = fabric_of(small_dump());
  EXPECT_THAT(remarks, IsEmpty());
  ASSERT_EQ(fabric.hosts().size(), 1u);
  EXPECT_EQ(fabric.nics().size(), 2u);
  EXPECT_EQ(fabric.link(*fabric.find_link("host1--leaf2")).rate, Bandwidth::gbit(400));
  EXPECT_EQ(fabric.link(*fabric.find_link("leaf1--spine1")).rate, Bandwidth::gbit(200));
  EXPECT_EQ(fabric.link(*fabric.find_link("leaf2--spine1")).rate, Bandwidth::gbit(800));
  const auto nic = *fabric.find_nic("host1/p2");
  EXPECT_EQ(inventory.ports[nic.value()].lids, (LidRange{Lid(12), 2}));
  EXPECT_EQ(inventory.ports[nic.value()].node_guid, Guid(0x1011));
  EXPECT_EQ(inventory.nodes[fabric.find_node("leaf2")->value()].lids, (LidRange{Lid(5), 0}));
  EXPECT_EQ(inventory.aggregation_nodes.size(), 1u);
}

TEST(Ibnetdiscover, WhatIsWrittenReadsAsTheSameFabric) {
  const auto first = fabric_of(small_dump());
  const auto text = write_ibnetdiscover(first.fabric, first.inventory);
  const auto second = fabric_of(text);
  EXPECT_THAT(second.remarks, IsEmpty());
  ASSERT_EQ(second.fabric.link_count(), first.fabric.link_count());
  for (std::uint32_t l = 0; l < first.fabric.link_count(); ++l) {
    EXPECT_EQ(second.fabric.name_of(LinkId(l)), first.fabric.name_of(LinkId(l)));
    EXPECT_EQ(second.fabric.link(LinkId(l)).rate, first.fabric.link(LinkId(l)).rate);
  }
  EXPECT_EQ(write_ibnetdiscover(second.fabric, second.inventory), text);
}

TEST(Ibnetdiscover, ADumpCutAnywhereNeverFailsWithoutSayingWhere) {
  const auto whole = small_dump();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto subnet = parse_ibnetdiscover(std::string_view(whole).substr(0, length));
    if (!subnet) {
      EXPECT_EQ(subnet.error().message, "no node: expected the output of ibnetdiscover");
      continue;
    }
    EXPECT_TRUE(build_infiniband_fabric(*subnet, "cut")) << length;
  }
}

TEST(Ibnetdiscover, ANodeKnownFromItsNeighboursAloneIsThereWithARemark) {
  auto text = small_dump();
  text.resize(text.find("vendid=0x2c9\ndevid=0x1021"));  // no channel adapters at the end
  const auto found = fabric_of(text);
  EXPECT_TRUE(found.fabric.find_link("host1--leaf1"));
  EXPECT_THAT(found.remarks, Contains(HasSubstr("'host1 mlx5_0' is known from its neighbours alone")));
}

TEST(Ibnetdiscover, ALinkWhoseEndsDisagreeIsLeftOutWithARemark) {
  auto text = small_dump();
  const std::string line = "[2]\t\"S-0000000000003001\"[2]";
  text.replace(text.find(line), line.size(), "[2]\t\"S-0000000000003001\"[7]");
  const auto found = fabric_of(text);
  EXPECT_THAT(found.remarks, Contains(HasSubstr("disagree on where their cable goes")));
  EXPECT_FALSE(found.fabric.find_link("leaf2/p2--spine1/p2"));
}

TEST(Ibnetdiscover, EndsThatDisagreeOnSpeedGiveTheSlowerAndARemark) {
  auto text = small_dump();
  const std::string line = "\"leaf2\" lid 5 4xXDR";
  text.replace(text.find(line), line.size(), "\"leaf2\" lid 5 4xNDR");
  const auto found = fabric_of(text);
  EXPECT_THAT(found.remarks, Contains(HasSubstr("disagree on width or speed")));
  EXPECT_EQ(found.fabric.link(*found.fabric.find_link("leaf2--spine1")).rate, Bandwidth::gbit(400));
}

TEST(Ibnetdiscover, NodesOfOneNameAreToldApartByTheirGuids) {
  auto text = small_dump();
  for (std::size_t at = 0; (at = text.find("\"leaf2\"", at)) != std::string::npos;)
    text.replace(at, 7, "\"leaf1\"");
  const auto found = fabric_of(text);
  EXPECT_TRUE(found.fabric.find_node("leaf1-0x0000000000002001"));
  EXPECT_TRUE(found.fabric.find_node("leaf1-0x0000000000002002"));
}

TEST(Ibnetdiscover, WrongLinesAreNamed) {
  EXPECT_THAT(parse_ibnetdiscover("hello\nworld\n").error().message, HasSubstr("line 1"));
  EXPECT_THAT(parse_ibnetdiscover("Switch\t4 \"S-00zz\"\n\n").error().message, HasSubstr("node id"));
  EXPECT_THAT(parse_ibnetdiscover("Switch\t4 \"S-0001\"\n[9]\t\"S-0002\"[1]\n\n").error().message,
              HasSubstr("expected a port number from 1 to 4"));
}

TEST(Ibnetdiscover, GroupingFullInformationAndWarningsBetweenTheLinesAreNoObstacle) {
  const auto found = fabric_of(
      "ibwarn: [4711] mad_rpc: timed out\n\nChassis 1 (guid 0x2c90000000001)\n\n# Line Nodes\n"
      "vendid=0x2c9\nsysimgguid=0x2001\t\t# Chassis 1\nswitchguid=0x2001(2001)\t# Line 1\n"
      "Switch\t4 \"S-0000000000002001\"\t\t# \"leaf1\" base port 0 lid 4 lmc 0\n"
      "[1][ext 5]\t\"H-0000000000001001\"[1](1001) \t\t# \"host1 mlx5_0\" lid 2 4xHDR s=4 w=2 v=4 e=8\n"
      "src/query_smp.c:199; umad (DR path slid 0; dlid 0; 0,1 Attr 0x11:0) bad status 110\n\n"
      "Non-Chassis Nodes\ncaguid=0x1001\nCa\t1 \"H-0000000000001001\"\t\t# \"host1 mlx5_0\"\n"
      "[1](1001) \t\"S-0000000000002001\"[1][ext 5]\t\t# lid 2 lmc 0 \"leaf1\" lid 4 4xHDR s=4 w=2 v=4\n\n");
  ASSERT_TRUE(found.fabric.find_link("host1--leaf1"));
  EXPECT_EQ(found.fabric.links()[0].rate, Bandwidth::gbit(200));
  EXPECT_THAT(found.remarks,
              ElementsAre(HasSubstr("2 lines are none of ibnetdiscover's, as line 1: 'ibwarn")));
}

TEST(Ibnetdiscover, ARouterIsNoHost) {
  const auto found = fabric_of(
      "Switch\t4 \"S-0000000000002001\"\t\t# \"leaf1\" base port 0 lid 4 lmc 0\n"
      "[1]\t\"H-0000000000001001\"[1](1001)\t\t# \"host1 mlx5_0\" lid 2 4xHDR\n"
      "[2]\t\"R-0000000000009001\"[1](9001)\t\t# \"gateway\" lid 9 4xHDR\n\n"
      "rtguid=0x9001\nRt\t2 \"R-0000000000009001\"\t\t# \"gateway\"\n"
      "[1](9001)\t\"S-0000000000002001\"[2]\t\t# lid 9 lmc 0 \"leaf1\" lid 4 4xHDR\n\n");
  EXPECT_EQ(found.fabric.hosts().size(), 1u);
  EXPECT_THAT(found.remarks, Contains(HasSubstr("'gateway' is a router to another subnet")));
}

TEST(Ibnetdiscover, AReportOfPortsIsReadToo) {
  const auto found = fabric_of(
      "CA     2  1 0x0000000000001001 4x HDR - SW     4  1 0x0000000000002001 ( 'host1 mlx5_0' - 'leaf1' )\n"
      "SW     4  2 0x0000000000002001 4x SDR                                     'leaf1'\n"
      "SW     4  1 0x0000000000002001 4x HDR - CA     2  1 0x0000000000001001 ( 'leaf1' - 'host1 mlx5_0' "
      ")\n");
  ASSERT_TRUE(found.fabric.find_link("host1--leaf1"));
  EXPECT_EQ(found.fabric.link_count(), 1u);
  EXPECT_EQ(found.fabric.port(found.fabric.nics()[0]).guid, Guid(0x1001));
}

TEST(Ibnetdiscover, OfAGuidOfTwoPortsOrOfNobodyTheFabricFileCanBeReadAgain) {
  std::string list =
      "SW     4  1 0x0000000000002001 4x HDR - CA     2  1 0x0000000000001001 ( 'leaf1' - 'host1 mlx5_0' )\n";
  const auto zero = fabric_of(list + "CA     5  1 0x0000000000000000 4x HDR 'host9 mlx5_0'\n");
  EXPECT_THAT(zero.remarks, Contains(HasSubstr("CA     5  1 0x0000000000000000")));
  auto text = small_dump();
  for (std::size_t at = 0; (at = text.find("(1012)", at)) != std::string::npos;)
    text.replace(at, 6, "(1002)");
  const auto twice = fabric_of(text);
  EXPECT_THAT(twice.remarks, Contains(HasSubstr("has the GUID 0x1002 of another port")));
  for (const auto& found : {zero, twice}) {
    const auto file = write_fabric_file(found.fabric, {});
    EXPECT_TRUE(parse_fabric_file(file, "found")) << file;
  }
}

TEST(Ibnetdiscover, NamesOfSixtyFourCharactersAreReadAsWritten) {
  const std::string name(64, 'h');
  auto text = small_dump();
  for (std::size_t at = 0; (at = text.find("\"host1 mlx5_0\"", at)) != std::string::npos;)
    text.replace(at, 14, "\"" + name + "\"");
  EXPECT_TRUE(fabric_of(text).fabric.find_node(name));
}

TEST(Ibnetdiscover, NamesOfAnyBytesAreNoHarm) {
  for (const std::string name : {"a\"b\"c", "\x1b[31m", "caf\xc3", "", "--", "\xff\xfe", "x'\" - '"}) {
    auto text = small_dump();
    for (std::size_t at = 0; (at = text.find("\"leaf1\"", at)) != std::string::npos; at += name.size())
      text.replace(at, 7, "\"" + name + "\"");
    const auto found = fabric_of(text);
    EXPECT_EQ(found.fabric.node_count(), fabric_of(small_dump()).fabric.node_count()) << name;
  }
  EXPECT_FALSE(parse_ibnetdiscover("Switch\t4 \"S-0000000000000000\"\n\n")) << "a GUID of zero";
}

TEST(NodeNames, AMapNamesNodesByGuid) {
  const auto names = parse_node_names("# our names\n0x2001 \"rack1 leaf\"\n\n 0x3001\t\"core-a\" # old\n");
  ASSERT_TRUE(names) << names.error().message;
  const auto found = build_infiniband_fabric(*parse_ibnetdiscover(small_dump()), "named", *names);
  EXPECT_TRUE(found->fabric.find_link("rack1-leaf--core-a"));
  EXPECT_THAT(parse_node_names("0xzz \"a\"").error().message, HasSubstr("line 1"));
}

TEST(Ibnetdiscover, ANodeOrAPortThatStandsTwiceIsAnErrorWithItsLine) {
  const std::string leaf = "Switch\t4 \"S-0001\"\n";
  EXPECT_THAT(parse_ibnetdiscover(leaf + "\n" + leaf + "\n").error().message,
              HasSubstr("line 3: node 0x1 stands twice"));
  EXPECT_THAT(parse_ibnetdiscover(leaf + "[1]\t\"S-0002\"[1]\n[1]\t\"S-0003\"[1]\n\n").error().message,
              HasSubstr("line 3: port 1 stands twice"));
  EXPECT_THAT(parse_ibnetdiscover("vendid=zz\n").error().message, HasSubstr("hexadecimal"));
}

}  // namespace
}  // namespace weft::files
