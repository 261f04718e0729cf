#include "probes/discover/cabling.hpp"

#include <gmock/gmock.h>

#include "probes/discover/cabling_json.hpp"
#include "tests/support/schema.hpp"
#include "topology/files/ibnetdiscover.hpp"
#include "topology/model/clos.hpp"
#include "topology/model/fabric_builder.hpp"
#include "topology/model/ib_design.hpp"

namespace weft::discover {
namespace {

using ::testing::IsEmpty;

Fabric designed() {
  return make_clos({.name = "d",
                    .kind = FabricKind::infiniband,
                    .leaves = 3,
                    .spines = 2,
                    .hosts_per_leaf = 2,
                    .link = Bandwidth::gbit(200)})
      .value();
}

/// `fabric` as its own dump reads.
InfinibandFabric built(std::string text) {
  return build_infiniband_fabric(files::parse_ibnetdiscover(text).value(), "found").value();
}
std::string dump(const Fabric& fabric) {
  return files::write_ibnetdiscover(fabric, design_inventory(fabric));
}

/// The links of `fabric`, each as `change` leaves it; nullopt: not there.
template <class Change>
Fabric changed(const Fabric& fabric, Change change) {
  FabricBuilder builder("c", FabricKind::infiniband);
  for (const Node& node : fabric.nodes()) (void)builder.add_node(node);
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l) {
    const Link& link = fabric.link(LinkId(l));
    auto a = fabric.name_of(fabric.port(link.a).node);
    auto b = fabric.name_of(fabric.port(link.b).node);
    auto rate = link.rate;
    if (change(fabric.name_of(LinkId(l)), a, b, rate))
      builder.connect(*builder.find_node(a), *builder.find_node(b), rate);
  }
  return std::move(builder).build();
}

std::vector<std::string> lines(const std::vector<CablingFault>& faults) {
  std::vector<std::string> result;
  for (const auto& f : faults)
    result.push_back(fmt::format("{}: {}: {} / {}", to_string(f.kind), f.where, f.should, f.is));
  return result;
}

TEST(Cabling, AFabricBuiltAsDesignedHasNoFault) {
  EXPECT_THAT(lines(check_cabling(designed(), built(dump(designed()))).faults), IsEmpty());
}

TEST(Cabling, NamesAMissingCableWithBothItsEnds) {
  const auto is =
      changed(designed(), [](const auto& name, auto&, auto&, auto&) { return name != "leaf2--spine1"; });
  const auto faults = check_cabling(designed(), built(dump(is))).faults;
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].kind, CablingKind::missing_cable);
  EXPECT_EQ(faults[0].where, "leaf2/p3");
  EXPECT_EQ(faults[0].should, "a cable to spine1/p2");
}

TEST(Cabling, TwoHostsWithTheirCablesCrossedAreTwoMiswiredCables) {
  const auto is = changed(designed(), [](const auto&, auto& a, auto& b, auto&) {
    if (a == "host1")
      b = "leaf2";
    else if (a == "host3")
      b = "leaf1";
    return true;
  });
  const auto faults = check_cabling(designed(), built(dump(is))).faults;
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].kind, CablingKind::miswired);
  EXPECT_EQ(faults[0].where, "host1/p1");
  EXPECT_EQ(faults[0].should, "a cable to leaf1");
  EXPECT_EQ(faults[1].where, "host3/p1");
}

TEST(Cabling, ALinkAtHalfItsWidthIsAWrongRate) {
  const auto is = changed(designed(), [](const auto& name, auto&, auto&, auto& rate) {
    if (name == "leaf1--spine2") rate = Bandwidth::gbit(100);
    return true;
  });
  const auto faults = check_cabling(designed(), built(dump(is))).faults;
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].kind, CablingKind::wrong_rate);
  EXPECT_EQ(faults[0].where, "leaf1--spine2");
  EXPECT_EQ(faults[0].is, "100 Gbit/s (2xHDR)");
}

TEST(Cabling, AnAdapterOfAnotherModelIsNamed) {
  auto text = dump(designed());
  const auto at = text.find("devid=0x1\n");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 10, "devid=0x9\n");
  const auto faults = check_cabling(designed(), built(text)).faults;
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].kind, CablingKind::mixed_model);
  EXPECT_EQ(faults[0].where, "host1");
}

TEST(Cabling, OfANodeThatOnlyItsNeighboursTellNoModelIsKnown) {
  auto text = dump(designed());
  const auto at = text.find("vendid=");
  text.erase(at, text.find("vendid=", at + 1) - at);  // host1's own part
  EXPECT_THAT(lines(check_cabling(designed(), built(text)).faults), IsEmpty());
}

/// Of six levels of one switch each, with other models in the topmost two.
TEST(Cabling, SwitchesFartherFromTheHostsMayBeOfAnotherModel) {
  FabricBuilder builder("tall", FabricKind::infiniband);
  NodeId below = builder.add_node({.name = "host1", .kind = NodeKind::host, .tier = Tier::host}).value();
  for (int level = 1; level <= 6; ++level) {
    const NodeId above =
        builder.add_node({.name = fmt::format("sw{}", level), .tier = static_cast<Tier>(std::min(level, 3))})
            .value();
    builder.connect(below, above, Bandwidth::gbit(200));
    below = above;
  }
  const Fabric tall = std::move(builder).build();
  auto text = dump(tall);
  for (const char* name : {"\"sw5\"", "\"sw6\""}) {
    const auto at = text.rfind("devid=0x2\n", text.find(fmt::format("# {} ", name)));
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, 10, "devid=0x7\n");
  }
  EXPECT_THAT(lines(check_cabling(tall, built(text)).faults), IsEmpty());
}

TEST(Cabling, NodesThatAreNotThereOrNotWantedAreNamed) {
  const auto bigger = make_clos({.name = "b",
                                 .kind = FabricKind::infiniband,
                                 .leaves = 3,
                                 .spines = 3,
                                 .hosts_per_leaf = 2,
                                 .link = Bandwidth::gbit(200)})
                          .value();
  const auto missing = check_cabling(bigger, built(dump(designed()))).faults;
  EXPECT_EQ(missing.front().kind, CablingKind::missing_node);
  EXPECT_EQ(missing.front().where, "spine3");
  EXPECT_EQ(missing.size(), 1u + 3u);  // and its cables
  EXPECT_EQ(check_cabling(designed(), built(dump(bigger))).faults.front().kind, CablingKind::extra_node);
}

/// The fabric as a file has it that was written of the fabric as it was: with GUIDs.
Fabric with_guids() { return built(dump(designed())).fabric; }

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

std::vector<std::string> remarks(const CablingReport& report) {
  std::vector<std::string> texts;
  for (const MatchRemark& remark : report.remarks) texts.push_back(to_string(remark));
  return texts;
}

TEST(Cabling, HostsThatWereAllRenamedAreRemarksAndNoFaults) {
  auto text = dump(designed());
  for (int i = 1; i <= 6; ++i)
    replace_all(text, fmt::format("\"host{} mlx5_0\"", i), fmt::format("\"gpu-{} mlx5_0\"", i));
  const auto report = check_cabling(with_guids(), built(text));
  EXPECT_THAT(lines(report.faults), IsEmpty());
  EXPECT_EQ(report.links_right, 12u);
  EXPECT_EQ(remarks(report).size(), 6u);
  EXPECT_EQ(remarks(report)[0], "renamed: host1 is now gpu-1");
}

TEST(Cabling, HostsWhoseNamesFellBackToTheInstallersAreNotOneHost) {
  auto text = dump(designed());
  for (int i = 1; i <= 6; ++i)
    replace_all(text, fmt::format("\"host{} mlx5_0\"", i), fmt::format("\"localhost mlx5_{}\"", i % 3));
  const auto report = check_cabling(with_guids(), built(text));
  EXPECT_THAT(lines(report.faults), IsEmpty());
  // Without GUIDs in the file too: by their cables, and each with a remark.
  const auto by_cables = check_cabling(designed(), built(text));
  EXPECT_THAT(lines(by_cables.faults), IsEmpty());
  EXPECT_EQ(by_cables.remarks.size(), 6u);
}

TEST(Cabling, OfTwoSwitchesOfOneFactoryNameTheOneThatDiedIsMissing) {
  auto text = dump(designed());
  for (const char* spine : {"\"spine1\"", "\"spine2\""}) replace_all(text, spine, "\"Infiniscale-IV\"");
  const auto before = built(text);
  ASSERT_EQ(before.fabric.nodes().back().name.substr(0, 17), "Infiniscale-IV-0x");
  const auto without = changed(designed(), [](const auto&, auto&, auto& b, auto&) { return b != "spine2"; });
  auto after = dump(without);
  replace_all(after, "\"spine1\"", "\"Infiniscale-IV\"");
  const auto report = check_cabling(before.fabric, built(after));
  ASSERT_EQ(report.faults.size(), 1u + 3u);
  EXPECT_EQ(report.faults[0].kind, CablingKind::missing_node);
  EXPECT_EQ(report.faults[0].where, "Infiniscale-IV-0x02776502000000a0");
  EXPECT_THAT(remarks(report), IsEmpty()) << "that its name became the only one is no other name";
  EXPECT_EQ(report.links_right, 9u);
}

TEST(Cabling, AnotherAdapterOnTheSameCableIsReplaced) {
  auto text = dump(designed());
  replace_all(text, "277650100000000", "277650900000000");
  replace_all(text, "277650100000001", "277650900000001");
  const auto report = check_cabling(with_guids(), built(text));
  EXPECT_THAT(lines(report.faults), IsEmpty());
  EXPECT_THAT(remarks(report),
              ::testing::ElementsAre("replaced: host1 (0x0277650100000001) is now 0x0277650900000001"));
}

TEST(Cabling, NicsOfOneHostOnEachOthersRailsAreMiswired) {
  const auto rails = make_rails({.name = "r",
                                 .kind = FabricKind::infiniband,
                                 .groups = 1,
                                 .hosts_per_group = 2,
                                 .rails = 2,
                                 .spines = 1,
                                 .link = Bandwidth::gbit(200)})
                         .value();
  const auto file = built(dump(rails)).fabric;
  auto text = dump(rails);
  // The two adapters of host1 change their places, each with its GUID.
  const auto guid_of = [&](const char* nic, std::uint64_t of_port) {
    const auto design = design_inventory(rails);
    return fmt::format("{:x}", design.ports[rails.find_nic(nic)->value()].node_guid.value() + of_port);
  };
  const auto swap = [&](const std::string& one, const std::string& other) {
    replace_all(text, one, "X");
    replace_all(text, other, one);
    replace_all(text, "X", other);
  };
  swap(guid_of("host1/p1", 0), guid_of("host1/p2", 0));
  swap(guid_of("host1/p1", 1), guid_of("host1/p2", 1));
  const auto report = check_cabling(file, built(text));
  ASSERT_EQ(report.faults.size(), 2u) << text;
  EXPECT_EQ(report.faults[0].kind, CablingKind::miswired);
  EXPECT_EQ(report.links_right, file.link_count() - 2);
}

TEST(Cabling, ManyDevicesOfAnotherModelAreOneLine) {
  auto text = dump(designed());
  for (const char* host : {"H-0277650100000000\"\t\t# \"host1", "H-0277650100000020\"\t\t# \"host2"}) {
    const auto at = text.rfind("devid=0x1\n", text.find(host));
    ASSERT_NE(at, std::string::npos);
    text.replace(at, 10, "devid=0x9\n");
  }
  const auto report = check_cabling(designed(), built(text));
  ASSERT_EQ(report.faults.size(), 1u);
  EXPECT_EQ(report.faults[0].where, "host1, host2");
  EXPECT_EQ(report.links_right, 12u) << "a model is no link";
}

TEST(Cabling, TheListAsADocumentFitsItsSchemaAndLeavesOutWhatIsNotThere) {
  const CablingReport report{
      .faults = {{CablingKind::missing_cable, "leaf1/p3", "a cable to spine1/p1", "no link"},
                 {CablingKind::mixed_firmware, "host1", "1.2", "1.1", {"host1", "host2"}},
                 {CablingKind::extra_node, "host\"9", "", "a node of this name"}},
      .links_right = 11,
      .remarks = {{MatchRemark::Kind::renamed, "host2", "host2", "ubuntu"}}};
  const auto text = cabling_json(designed(), report, {"0x2: no answer"}, {UtcTime{}, "0.1.0"});
  expect_matches_schema(text, "cabling");
  EXPECT_THAT(text, ::testing::HasSubstr("{\"what\":\"missing cable\",\"where\":\"leaf1/p3\","
                                         "\"should\":\"a cable to spine1/p1\",\"is\":\"no link\"}"));
  EXPECT_THAT(text, ::testing::HasSubstr("\"where\":\"host\\\"9\",\"is\":"));
  EXPECT_THAT(text, ::testing::HasSubstr("\"is\":\"1.1\",\"nodes\":[\"host1\",\"host2\"]}"));
}

std::vector<DeviceFirmware> devices(const Fabric& fabric, std::initializer_list<const char*> hosts,
                                    FirmwareVersion version, std::uint16_t device = 4123) {
  std::vector<DeviceFirmware> result;
  for (const char* host : hosts)
    result.push_back({fabric.find_node(host).value(), Guid(result.size() + 1), device, version});
  return result;
}

TEST(Firmware, TheFewOfAModelWithAnotherVersionAreNamed) {
  const Fabric fabric = designed();
  auto all = devices(fabric, {"host1", "host2", "host4"}, {20, 31, 2006});
  for (auto more :
       {devices(fabric, {"host3"}, {20, 29, 1016}), devices(fabric, {"leaf1"}, {27, 2008, 3328}, 54000)})
    all.insert(all.end(), more.begin(), more.end());
  EXPECT_THAT(lines(check_firmware(fabric, all)),
              ::testing::ElementsAre("mixed firmware: host3: as most of its model: 20.31.2006 / 20.29.1016"));
}

TEST(Firmware, AVersionIsOneLineHoweverManyHaveIt) {
  const Fabric fabric = designed();
  auto all = devices(fabric, {"host1", "leaf1", "leaf2", "leaf3", "spine1", "spine2"}, {20, 31, 2006});
  const auto older = devices(fabric, {"host2", "host3", "host4", "host5"}, {20, 29, 1016});
  all.insert(all.end(), older.begin(), older.end());
  const auto faults = check_firmware(fabric, all);
  EXPECT_THAT(lines(faults),
              ::testing::ElementsAre("mixed firmware: host2, host3, host4 and 1 more: as most of its model: "
                                     "20.31.2006 / 20.29.1016"));
  EXPECT_THAT(faults[0].nodes, ::testing::ElementsAre("host2", "host3", "host4", "host5"));
}

TEST(Firmware, OfTwoVersionsAsOftenTheNewerIsTheOneToHave) {
  const Fabric fabric = designed();
  auto all = devices(fabric, {"host1"}, {20, 31, 2006});
  all.push_back(devices(fabric, {"host2"}, {20, 31, 1014})[0]);
  EXPECT_THAT(lines(check_firmware(fabric, all)),
              ::testing::ElementsAre("mixed firmware: host2: as most of its model: 20.31.2006 / 20.31.1014"));
}

TEST(Firmware, AHostOfSeveralAdaptersHasTheGuidOfTheOneNamed) {
  const Fabric fabric = designed();
  auto all = devices(fabric, {"host1", "host1", "host2"}, {20, 31, 2006});
  all[1].version = {20, 30, 1};
  EXPECT_THAT(lines(check_firmware(fabric, all)),
              ::testing::ElementsAre(::testing::HasSubstr("host1 (0x2)")));
}

TEST(Firmware, OneVersionOfEachModelIsNoFault) {
  const Fabric fabric = designed();
  auto all = devices(fabric, {"host1", "host2"}, {20, 31, 2006});
  all.push_back(devices(fabric, {"leaf1"}, {27, 2008, 3328}, 54000)[0]);
  EXPECT_THAT(check_firmware(fabric, all), IsEmpty());
}

}  // namespace
}  // namespace weft::discover
