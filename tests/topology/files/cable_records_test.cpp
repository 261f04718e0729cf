// What sites have that tells of cables, in the forms in which the programs print it.
#include "topology/files/cable_records.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/places.hpp"
#include "topology/files/file_text.hpp"

namespace weft::files {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const RecordSource kLeaf1{"leaf1.json", "leaf1"};

Cable cable(const char* a, const char* port_a, const char* b, const char* port_b) {
  return {{a, port_a}, {b, port_b}};
}

CableList read(std::string_view text, const RecordSource& source = kLeaf1) {
  const auto list = parse_cable_record(text, source);
  EXPECT_TRUE(list) << list.error().message;
  return list.value_or(CableList{});
}
std::string refusal(std::string_view text) {
  const auto list = parse_cable_record(text, kLeaf1);
  return list ? "" : list.error().message;
}

TEST(LldpcliJson, OneNeighbourIsAnObjectWithItsNameAsKey) {
  const auto list = read(R"({"lldp": {"interface": {"p1": {"via": "LLDP", "chassis": {"host1": {
      "id": {"type": "mac", "value": "02:77:00:00:00:01"}, "mgmt-ip": ["10.0.1.1", "fe80::1"],
      "capability": [{"type": "Router", "enabled": false}, {"type": "Station", "enabled": true}]}},
      "port": {"id": {"type": "mac", "value": "02:77:00:00:00:01"}, "descr": "eth2"}}}}})");
  EXPECT_THAT(list.cables, ElementsAre(cable("leaf1", "p1", "host1", "eth2")));
  EXPECT_THAT(list.hosts, ElementsAre("host1"));
  EXPECT_EQ(list.known_by.size(), 2u);
  EXPECT_TRUE(list.is_live);
}

TEST(LldpcliJson, SeveralAreAListAndAPortIdThatIsANameGoesBeforeItsDescription) {
  const auto list = read(R"({"lldp": {"interface": [
      {"Ethernet1/1": {"chassis": {"spine1": {"capability": {"type": "Router", "enabled": true}}},
        "port": {"id": {"type": "ifname", "value": "Ethernet1/5"}, "descr": "to leaf1"}}},
      {"Ethernet1/2": {"chassis": {"spine2": {}}, "port": {"id": {"type": "local", "value": "etp6"}}}}]}})");
  EXPECT_THAT(list.cables, ElementsAre(cable("leaf1", "Ethernet1/1", "spine1", "Ethernet1/5"),
                                       cable("leaf1", "Ethernet1/2", "spine2", "etp6")));
  EXPECT_THAT(list.switches, ElementsAre("spine1"));
}

TEST(LldpcliJson, TheFormThatNeverChangesShapeIsReadToo) {
  const auto list = read(R"({"lldp": [{"interface": [{"name": "p1", "chassis": [{"name": [{"value": "host1"}],
      "mgmt-ip": [{"value": "10.0.1.1"}], "capability": [{"type": "Station", "enabled": true}]}],
      "port": [{"id": [{"type": "mac", "value": "02:77:00:00:00:01"}], "descr": [{"value": "eth2"}]}]}]}]})");
  EXPECT_THAT(list.cables, ElementsAre(cable("leaf1", "p1", "host1", "eth2")));
}

TEST(LldpcliJson, ANeighbourWithoutANameIsARemarkAndAnEmptyTableNone) {
  const auto list = read(R"({"lldp": {"interface": {"p1": {"chassis": {"id": {"type": "mac",
      "value": "02:77:00:00:00:01"}}, "port": {"descr": "eth2"}}}}})");
  EXPECT_THAT(list.cables, IsEmpty());
  EXPECT_THAT(list.remarks, ElementsAre(HasSubstr("p1")));
  EXPECT_THAT(read(R"({"lldp": {}})").cables, IsEmpty());
}

TEST(LldpcliJson, ANeighbourThatIsAStationAndNothingElseIsAHost) {
  const auto list = read(R"({"lldp": {"interface": {"p1": {"chassis": {"host1": {
      "capability": {"type": "Station", "enabled": true}}}, "port": {"descr": "eth2"}}}}})");
  EXPECT_THAT(list.hosts, ElementsAre("host1"));
}

TEST(LldpcliJson, TwoNeighboursOfOneNameAreARemarkAndOneByTwoCablesIsNone) {
  const auto spine_at = [](const char* port, const char* id) {
    return fmt::format(R"({{"{}": {{"chassis": {{"spine1": {{"id": {{"type": "mac", "value": "{}"}}}}}},
        "port": {{"id": {{"type": "ifname", "value": "{}"}}}}}}}})",
                       port, id, port);
  };
  const auto table = [&](const char* id) {
    return read(fmt::format(R"({{"lldp": {{"interface": [{}, {}]}}}})", spine_at("p1", "02:77:00:00:00:01"),
                            spine_at("p2", id)));
  };
  EXPECT_THAT(table("02:77:00:00:00:02").remarks, ElementsAre(HasSubstr("two neighbours are called spine1")));
  EXPECT_THAT(table("02:77:00:00:00:01").remarks, IsEmpty());
}

TEST(LldpcliJson, HalfOfADumpIsRefusedWithItsFile) {
  EXPECT_THAT(refusal(R"({"lldp": {"interface": {"p1": {"chas)"), HasSubstr("leaf1.json: not JSON"));
}

TEST(NvueLldp, InterfacesHaveNeighboursByName) {
  const auto list = read(R"({"eth0": {"lldp": {"neighbor": {"oob": {"chassis": {"system-name": "oob"},
      "port": {"name": "swp9", "type": "interface"}}}}},
      "swp1": {"lldp": {"neighbor": {"spine1": {"chassis": {"system-name": "spine1"},
      "port": {"name": "swp4", "type": "interface"}}}}}, "swp2": {"type": "swp"}})");
  EXPECT_THAT(list.cables, ElementsAre(cable("leaf1", "swp1", "spine1", "swp4")));
}

constexpr const char* kTable =
    "Capability codes: (R) Router, (B) Bridge, (O) Other\n"
    "LocalPort    RemoteDevice            RemotePortID       Capability    RemotePortDescr\n"
    "-----------  ----------------------  -----------------  ------------  -----------------\n"
    "Ethernet0    spine1                  Ethernet4          BR            Ethernet4\n"
    "Ethernet8    gpu001                  02:77:00:00:00:01  O             eth2\n"
    "eth0         oob-switch              ge-0/0/1           BR            mgmt\n"
    "--------------------------------------------------\n"
    "Total entries displayed:  3\n";

TEST(SonicLldpTable, IsCutAtTheColumnsOfItsHead) {
  const auto list = read(kTable);
  EXPECT_THAT(list.cables, ElementsAre(cable("leaf1", "Ethernet0", "spine1", "Ethernet4"),
                                       cable("leaf1", "Ethernet8", "gpu001", "eth2")));
  EXPECT_THAT(list.remarks, IsEmpty());
}

TEST(SonicLldpTable, HalfOfOneIsReadUpToTheLastWholeRowAndSaidToBeCut) {
  const std::string_view table(kTable);
  const auto list = read(table.substr(0, table.find("gpu001") + 4));
  EXPECT_EQ(list.cables.size(), 1u);
  EXPECT_THAT(list.remarks, ElementsAre(HasSubstr("cut")));
}

TEST(SonicConfig, TellsItsNameNeighboursSpeedsAndAddresses) {
  const auto list = read(R"({"DEVICE_METADATA": {"localhost": {"hostname": "leaf7"}},
      "DEVICE_NEIGHBOR": {"Ethernet0": {"name": "spine1", "port": "Ethernet4"}},
      "PORT": {"Ethernet0": {"alias": "etp1", "speed": "400000"}},
      "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.128.0.0/31": {}},
      "LOOPBACK_INTERFACE": {"Loopback0|10.255.0.7/32": {}}})");
  EXPECT_THAT(list.cables,
              ElementsAre(Cable{{"leaf7", "Ethernet0"}, {"spine1", "Ethernet4"}, Bandwidth::gbit(400)}));
  EXPECT_THAT(list.addresses,
              ElementsAre(PortAddress{{"leaf7", "Ethernet0"}, IpAddress::parse("10.128.0.0").value()},
                          PortAddress{{"leaf7", ""}, IpAddress::parse("10.255.0.7").value()}));
  EXPECT_FALSE(list.is_live);
}

TEST(NetboxCables, AsCsvAreReadByTheHeadsOfTheirColumns) {
  const auto list = read(
      "ID,Label,Device A,Termination A,Device B,Termination B,Status\r\n"
      "1,\"a, b\",leaf1,Ethernet1/1,spine1,Ethernet1/5,Connected\r\n"
      "2,,leaf1,Ethernet1/2,spine2,Ethernet1/5,Planned\r\n"
      "3,,leaf1\r\n");
  EXPECT_THAT(list.cables, ElementsAre(cable("leaf1", "Ethernet1/1", "spine1", "Ethernet1/5")));
  EXPECT_THAT(list.remarks, ElementsAre(HasSubstr("row 4")));
}

TEST(NetboxCables, AsTheApiAnswersThem) {
  const auto list = read(R"({"count": 2, "next": "https://x/?offset=2", "results": [
      {"id": 1, "status": {"value": "connected"}, "a_terminations": [{"object_type": "dcim.interface",
        "object": {"device": {"name": "leaf1"}, "name": "Ethernet1/1"}}], "b_terminations": [
        {"object_type": "dcim.interface", "object": {"device": {"name": "spine1"}, "name": "Ethernet1/5"}}]},
      {"id": 2, "a_terminations": [], "b_terminations": []}]})");
  EXPECT_THAT(list.cables, ElementsAre(cable("leaf1", "Ethernet1/1", "spine1", "Ethernet1/5")));
  EXPECT_THAT(list.remarks, ElementsAre(HasSubstr("1 cables"), HasSubstr("one page")));
}

TEST(NetboxCables, OfPowerAndConsolesAreLeftOut) {
  const auto list = read(R"([{"a_terminations": [{"object_type": "dcim.powerport",
        "object": {"device": {"name": "leaf1"}, "name": "PSU1"}}], "b_terminations": [
        {"object_type": "dcim.poweroutlet", "object": {"device": {"name": "pdu1"}, "name": "3"}}]}])");
  EXPECT_THAT(list.cables, IsEmpty());
  EXPECT_THAT(list.remarks, IsEmpty());
  const auto csv = read(
      "Device A,Termination A,Termination A Type,Device B,Termination B,Termination B Type\n"
      "leaf1,con0,dcim.consoleport,ts1,3,dcim.consoleserverport\n"
      "leaf1,Ethernet1,dcim.interface,host1,eth0,Interface\n");
  EXPECT_THAT(csv.cables, ElementsAre(cable("leaf1", "Ethernet1", "host1", "eth0")));
}

TEST(CableRecord, WhatIsNoneNamesTheFormsThatAre) {
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
  EXPECT_THAT(refusal("fabric: a\n"), HasSubstr("show lldp table"));
  EXPECT_THAT(refusal("{\"a\": 1}"), HasSubstr("none that is known"));
  EXPECT_THAT(refusal("a,b\n1,2\n"), HasSubstr("Device A"));
}

TEST(CableRecord, NamesThatWouldSteerATerminalAreShownEscaped) {
  const auto list = read("Device A,Termination A,Device B,Termination B\nleaf\x1b[2J,p1,spine1,p2\n");
  ASSERT_EQ(list.cables.size(), 1u);
  EXPECT_EQ(list.cables[0].a.node, "leaf\\x1b[2J");
}

TEST(NetboxCsv, AnInventoryOfMoreThanAFabricIsRefused) {
  std::string text = "Device A,Termination A,Device B,Termination B\n";
  for (int i = 0; i <= 300'000; ++i) text += "a,p" + std::to_string(i) + ",b,q\n";
  EXPECT_THAT(refusal(text), HasSubstr("more than 300000 cables"));
}

std::string corpus_file(const std::string& name) {
  return read_text_file(WEFT_SOURCE_DIR "/tests/fuzz/corpus/cable_record/" + name, Bytes(100'000)).value();
}

TEST(LldpText, NeighboursAreReadByTheirIndentAndTheManagementPortIsLeftOut) {
  const auto list = read(corpus_file("neighbors.txt"));
  EXPECT_THAT(list.cables, ElementsAre(cable("leaf1", "Ethernet0", "host1", "eth2"),
                                       cable("leaf1", "Ethernet4", "spine1", "Ethernet1/5")));
  EXPECT_THAT(list.hosts, ElementsAre("host1"));
  EXPECT_THAT(list.switches, ElementsAre("leaf1", "spine1"));
  EXPECT_EQ(list.known_by.size(), 1u);
  EXPECT_THAT(list.remarks, IsEmpty());
}

TEST(LldpText, ATableThatIsCutIsReadUpToItsLastWholeNeighbour) {
  const auto whole = corpus_file("neighbors.txt");
  const auto list = read(whole.substr(0, whole.find("ifname Ethernet1/5") + 12));
  EXPECT_THAT(list.cables, ElementsAre(cable("leaf1", "Ethernet0", "host1", "eth2")));
  EXPECT_THAT(list.remarks, ElementsAre(HasSubstr("cut")));
}

TEST(Minigraph, LinksRatesAddressesAndWhoIsAHost) {
  const auto list = read(corpus_file("minigraph.xml"), {"minigraph.xml", "minigraph"});
  auto fast = cable("leaf1", "fortyGigE0/0", "spine1", "Ethernet1");
  fast.rate = Bandwidth::gbit(400);
  EXPECT_THAT(list.cables, ElementsAre(fast, cable("host1", "eth2", "leaf1", "fortyGigE0/4")));
  EXPECT_FALSE(list.is_live);
  EXPECT_THAT(list.hosts, ElementsAre("host1"));
  EXPECT_THAT(list.switches, ElementsAre("leaf1", "spine1"));
  const auto address = [](const char* text) { return IpAddress::parse(text).value(); };
  EXPECT_THAT(list.addresses, ElementsAre(PortAddress{{"leaf1", "fortyGigE0/0"}, address("10.0.0.0")},
                                          PortAddress{{"leaf1", ""}, address("10.0.0.2")}));
}

TEST(Minigraph, WhatIsNoneIsRefusedWithItsPlace) {
  EXPECT_THAT(refusal("<html><body/></html>"), HasSubstr("DeviceMiniGraph"));
  EXPECT_THAT(refusal("<DeviceMiniGraph><PngDec>"), HasSubstr("leaf1.json: no XML, at byte"));
  EXPECT_THAT(refusal("<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><x>&a;</x>"),
              HasSubstr("DeviceMiniGraph"));
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "<a>";
  EXPECT_THAT(refusal(deep), HasSubstr("no XML"));
}

}  // namespace
}  // namespace weft::files
