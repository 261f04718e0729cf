// Traces and a site's records, held against each other and against a file.
#include "probes/discover/found_fabric.hpp"

#include <gmock/gmock.h>

#include "probes/discover/against_file.hpp"
#include "probes/discover/listed_cables.hpp"
#include "tests/support/simulated_traces.hpp"
#include "topology/model/clos.hpp"

namespace weft::discover {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// LLDP of every node of a fabric, ports of switches by names of their own.
std::vector<files::CableList> lldp_of(const Fabric& fabric, const AddressBook* managed_by = nullptr) {
  const auto end = [&](PortId id) {
    const Port& port = fabric.port(id);
    const auto number = std::to_string(port.number.value());
    return files::CableEnd{fabric.name_of(port.node),
                           (fabric.is_host(port.node) ? "p" : "Ethernet1/") + number};
  };
  std::vector<files::CableList> lists;
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
    auto& list = lists.emplace_back(files::CableList{.source = "LLDP of " + fabric.name_of(NodeId(n))});
    list.devices.push_back(fabric.name_of(NodeId(n)));
    (fabric.is_host(NodeId(n)) ? list.hosts : list.switches).push_back(fabric.name_of(NodeId(n)));
    for (const ChannelId channel : fabric.channels_from(NodeId(n))) {
      list.cables.push_back({end(fabric.source(channel)), end(fabric.target(channel))});
      if (managed_by)
        if (const auto address = managed_by->address_of(fabric.source(channel));
            address && list.known_by.empty())
          list.known_by.push_back({{fabric.name_of(NodeId(n)), ""}, *address});
    }
  }
  return lists;
}

struct Rig {
  Fabric fabric = make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value();
  AddressBook book = plan_addresses(fabric, IpFamily::v4)->book;

  FoundSources traced(const Fabric& real, const sim::SimOptions& options = {}) const {
    const SimulatedDiscovery run(real, book, options);
    return {.hosts = run.hosts, .traced = run.script.found()};
  }
  FoundFabric found(FoundSources sources, const std::vector<files::CableList>& lists = {}) const {
    std::vector<std::string> names;
    for (const auto& host : sources.hosts) names.push_back(host.host);
    sources.listed = listed_cables(lists, names);
    auto result = found_fabric(sources);
    EXPECT_TRUE(result) << result.error().message;
    return std::move(result).value();
  }
  files::FabricFile design() const { return {fabric, {}, book, {}}; }
};

TEST(FoundFabric, OfTracesAloneReadsBackAsAFabricFileThatDiffersInNothing) {
  const Rig rig;
  const auto found = rig.found(rig.traced(rig.fabric));
  const auto written = files::write_fabric_file(found.fabric, {}, found.addresses);
  const auto again = files::parse_fabric_file(written, "written");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->fabric.link_count(), rig.fabric.link_count());
  EXPECT_THAT(found.gaps, IsEmpty());
  EXPECT_THAT(differences_from_file(again->fabric, again->addresses, rig.design()), IsEmpty());
}

TEST(FoundFabric, OfLldpAloneHasTheSwitchesOwnNamesOfPorts) {
  const Rig rig;
  const auto found = rig.found({}, lldp_of(rig.fabric));
  EXPECT_EQ(found.fabric.link_count(), rig.fabric.link_count());
  EXPECT_EQ(found.fabric.hosts().size(), 16u);
  EXPECT_TRUE(found.fabric.find_port("leaf1/Ethernet1/5"));
  EXPECT_EQ(found.fabric.node(*found.fabric.find_node("spine3")).tier, Tier::spine);
  EXPECT_THAT(found.disagreements, IsEmpty());
}

TEST(FoundFabric, TracesGiveTheNamedPortsTheirAddressesWhereTheSwitchIsKnown) {
  const Rig rig;
  const auto found = rig.found(rig.traced(rig.fabric), lldp_of(rig.fabric, &rig.book));
  EXPECT_THAT(found.open, IsEmpty());
  EXPECT_THAT(found.disagreements, IsEmpty());
  for (std::uint32_t l = 0; l < found.fabric.link_count(); ++l)
    for (const PortId end : {found.fabric.link(LinkId(l)).a, found.fabric.link(LinkId(l)).b})
      EXPECT_TRUE(found.addresses.address_of(end)) << found.fabric.name_of(end);
  const auto port = found.fabric.find_port("spine2/Ethernet1/3").value();
  EXPECT_EQ(found.addresses.address_of(port), rig.book.address_of(*rig.fabric.find_port("spine2/p3")));
}

TEST(FoundFabric, WhereTheSpinesCannotBeToldApartTheirAddressesStayOpen) {
  const Rig rig;
  const auto found = rig.found(rig.traced(rig.fabric), lldp_of(rig.fabric));
  EXPECT_EQ(found.fabric.link_count(), rig.fabric.link_count()) << "no cable twice";
  std::size_t open = 0;
  for (const auto& some : found.open) open += some.addresses.size();
  EXPECT_EQ(open, 32u);
  EXPECT_THAT(found.gaps, Contains(HasSubstr("which ports have the addresses")));
}

TEST(FoundFabric, WhatASilentSpineHidesIsGivenByLldp) {
  const Rig rig;
  const sim::SimOptions silent{.silent = {*rig.fabric.find_node("spine2")}};
  const auto alone = rig.found(rig.traced(rig.fabric, silent));
  EXPECT_EQ(alone.fabric.link_count(), 28u);
  EXPECT_THAT(alone.gaps, SizeIs(4));
  EXPECT_THAT(alone.gaps, Contains(AllOf(HasSubstr("above leaf1"), HasSubstr("never answers"))));
  EXPECT_EQ(rig.found(rig.traced(rig.fabric, silent), lldp_of(rig.fabric, &rig.book)).fabric.link_count(),
            32u);
}

TEST(FoundFabric, AMiswiredCableIsNamedAgainstTheFile) {
  const Rig rig;
  const auto real = with_swapped(rig.fabric, *rig.fabric.find_link("leaf1--spine2"),
                                 *rig.fabric.find_link("leaf2--spine3"));
  const auto found = rig.found(rig.traced(real));
  const auto said = differences_from_file(found.fabric, found.addresses, rig.design());
  EXPECT_THAT(said, SizeIs(4)) << "both ends of both cables";
  EXPECT_THAT(said, Contains(AllOf(HasSubstr("leaf1/p6"),
                                   HasSubstr("is cabled to spine3; the file says to spine2"))));
}

TEST(FoundFabric, TracesThatContradictLldpAreNamedWithBoth) {
  const Rig rig;
  auto lists = lldp_of(rig.fabric, &rig.book);
  const auto moved =
      with_swapped(rig.fabric, *rig.fabric.find_link("host1--leaf1"), *rig.fabric.find_link("host5--leaf2"));
  const auto found = rig.found(rig.traced(moved), lists);
  EXPECT_THAT(found.disagreements,
              Contains(AllOf(HasSubstr("host1 (LLDP of leaf1): at leaf1; traces find it"),
                             HasSubstr("which is leaf2"))));
  EXPECT_TRUE(found.fabric.find_link("host1--leaf2")) << "where packets go";
}

TEST(ListedCables, TwoLiveRecordsThatContradictEachOtherAreNamedAndNeitherIsBelieved) {
  const std::vector<files::CableList> lists{
      {.source = "LLDP of leaf1", .cables = {{{"leaf1", "e1"}, {"spine1", "e1"}}}, .devices = {"leaf1"}},
      {.source = "LLDP of spine1", .cables = {{{"spine1", "e1"}, {"leaf2", "e1"}}}, .devices = {"spine1"}}};
  const auto listed = listed_cables(lists, {});
  EXPECT_THAT(listed.disagreements,
              ElementsAre(AllOf(HasSubstr("LLDP of leaf1"), HasSubstr("LLDP of spine1"))));
  EXPECT_THAT(listed.far, IsEmpty());
}

TEST(FoundFabric, WhereEveryCableIsContradictedTheAnswerIsWhatContradicts) {
  const std::vector<files::CableList> lists{
      {.source = "LLDP of leaf1", .cables = {{{"leaf1", "e1"}, {"spine1", "e1"}}}, .devices = {"leaf1"}},
      {.source = "LLDP of leaf2", .cables = {{{"leaf2", "e1"}, {"spine1", "e1"}}}, .devices = {"leaf2"}}};
  const auto refused = found_fabric({.listed = listed_cables(lists, {})});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("no cable was found"), HasSubstr("; contradicted were: "),
                    HasSubstr("LLDP of leaf1"), HasSubstr("LLDP of leaf2")));
}

TEST(ListedCables, WhatIsOnTheWireGoesBeforeWhatIsPlanned) {
  const std::vector<files::CableList> lists{
      {.source = "NetBox", .is_live = false, .cables = {{{"leaf1", "e1"}, {"spine2", "e1"}}}},
      {.source = "LLDP of leaf1", .cables = {{{"leaf1", "e1"}, {"spine1", "e1"}}}, .devices = {"leaf1"}}};
  const auto listed = listed_cables(lists, {});
  EXPECT_EQ(listed.far.at({"leaf1", "e1"}).end.node, "spine1");
  EXPECT_THAT(listed.disagreements, SizeIs(1));
}

TEST(ListedCables, ADeviceKnowsItsOwnPortsNameAndAHostHasOneWithoutItsDomain) {
  const std::vector<files::CableList> lists{{.source = "LLDP of gpu1",
                                             .cables = {{{"gpu1.example.org", "eth2"}, {"leaf1", "etp1"}}},
                                             .devices = {"gpu1.example.org"}},
                                            {.source = "LLDP of leaf1",
                                             .cables = {{{"leaf1", "Ethernet0"}, {"gpu1", "eth2"}}},
                                             .devices = {"leaf1"}}};
  const auto listed = listed_cables(lists, std::vector<std::string>{"gpu1"});
  EXPECT_THAT(listed.disagreements, IsEmpty());
  EXPECT_EQ(listed.far.at({"gpu1", "eth2"}).end.port, "Ethernet0");
}

/// What `lldp_of` says, as a plan, and of the nodes whose names begin so.
std::vector<files::CableList> some_of(std::vector<files::CableList> lists, std::string_view begin,
                                      bool live) {
  std::erase_if(lists, [&](const auto& list) { return !list.source.starts_with(begin); });
  for (auto& list : lists) {
    list.is_live = live;
    if (!live) list.devices.clear();
  }
  return lists;
}

/// config_db.json of every switch: neighbours and addresses of ports.
std::vector<files::CableList> configs_of(const Fabric& fabric, const AddressBook& book) {
  auto lists = lldp_of(fabric);
  std::erase_if(lists, [&](const auto& l) { return fabric.is_host(*fabric.find_node(l.devices.front())); });
  for (auto& list : lists) {
    list.source = "configuration of " + list.devices.front();
    list.is_live = false;
    for (const PortId port : fabric.ports_of(*fabric.find_node(list.devices.front())))
      list.addresses.push_back(
          {{list.devices.front(), "Ethernet1/" + std::to_string(fabric.port(port).number.value())},
           *book.address_of(port)});
    list.devices.clear();
  }
  return lists;
}

TEST(FoundFabric, ATracedSwitchAndADeviceThatCouldBeTheSameAreNeverBothClaimed) {
  const Rig rig;
  const auto all = some_of(lldp_of(rig.fabric), "LLDP", false);
  for (const auto& lists : {all, some_of(all, "LLDP of spine", true), some_of(all, "LLDP of leaf1", true),
                            some_of(all, "LLDP of spine1", true), some_of(all, "LLDP of leaf", false)}) {
    const auto found = rig.found(rig.traced(rig.fabric), lists);
    EXPECT_EQ(found.fabric.link_count(), 32u) << lists.front().source << lists.size();
    EXPECT_EQ(found.fabric.node_count(), 24u) << lists.front().source << lists.size();
    EXPECT_THAT(found.gaps, Contains(AnyOf(HasSubstr("answered from the addresses below"),
                                           HasSubstr("which switches records call"))));
  }
}

TEST(FoundFabric, APlanOfKnownSwitchesThatTracesContradictIsNamedAndNoCableClaimedTwice) {
  const Rig rig;
  const auto planned = with_swapped(rig.fabric, *rig.fabric.find_link("leaf1--spine1"),
                                    *rig.fabric.find_link("leaf2--spine2"));
  auto lists = some_of(lldp_of(planned), "LLDP", false);
  for (const auto& list : lldp_of(rig.fabric, &rig.book))
    lists.push_back({.source = "addresses", .cables = {}, .known_by = list.known_by});
  const auto found = rig.found(rig.traced(rig.fabric), lists);
  EXPECT_EQ(found.fabric.link_count(), 32u);
  EXPECT_THAT(found.disagreements, Contains(HasSubstr("from leaf1 to spine1; the records of both")));
  lists = some_of(lldp_of(rig.fabric, &rig.book), "LLDP", false);
  for (auto& list : lists)
    std::erase_if(list.cables, [](const files::Cable& cable) {
      return std::set{cable.a.node, cable.b.node} == std::set<std::string>{"leaf1", "spine1"};
    });
  EXPECT_EQ(rig.found(rig.traced(rig.fabric), lists).fabric.link_count(), 32u) << "which records only lack";
}

TEST(FoundFabric, RecordsThatFitNoSwitchOfTheTracesWhicheverItIsAreContradicted) {
  const Rig rig;
  const auto planned = with_swapped(rig.fabric, *rig.fabric.find_link("leaf1--spine1"),
                                    *rig.fabric.find_link("leaf2--spine2"));
  const auto found = rig.found(rig.traced(rig.fabric), some_of(lldp_of(planned), "LLDP", false));
  EXPECT_EQ(found.fabric.link_count(), 32u);
  EXPECT_THAT(found.disagreements, ElementsAre(HasSubstr("spine1, spine2")));
}

TEST(FoundFabric, ASpineIsTheOnlyDeviceThatIsCabledToTheSameLeaves) {
  const Rig rig{.fabric = make_clos({.leaves = 4, .spines = 1, .hosts_per_leaf = 4}).value()};
  const auto found = rig.found(rig.traced(rig.fabric), lldp_of(rig.fabric));
  EXPECT_THAT(found.gaps, IsEmpty());
  EXPECT_TRUE(found.addresses.address_of(found.fabric.find_port("spine1/Ethernet1/3").value()));
}

TEST(FoundFabric, AConfigurationThatTracesContradictIsNamedAndItsCableNotClaimedTwice) {
  const Rig rig;
  const auto planned = with_swapped(rig.fabric, *rig.fabric.find_link("leaf1--spine1"),
                                    *rig.fabric.find_link("leaf2--spine2"));
  const auto found = rig.found(rig.traced(rig.fabric), configs_of(planned, rig.book));
  EXPECT_EQ(found.fabric.link_count(), 32u);
  EXPECT_TRUE(found.fabric.find_link("leaf1--spine1")) << "where packets go";
  EXPECT_THAT(found.disagreements,
              Contains(AllOf(HasSubstr("leaf1 Ethernet1/5"), HasSubstr("configuration of leaf1"),
                             HasSubstr("spine2 Ethernet1/2"), HasSubstr("traces to spine1"))));
  const auto agreed = rig.found(rig.traced(rig.fabric), configs_of(rig.fabric, rig.book));
  EXPECT_THAT(agreed.disagreements, IsEmpty());
  EXPECT_EQ(agreed.fabric.link_count(), 32u);
}

TEST(FoundFabric, ARecordThatKnowsANicByAnotherNameIsOfTheSameCable) {
  const Rig rig;
  auto lists = some_of(lldp_of(rig.fabric, &rig.book), "LLDP of leaf", true);
  for (auto& list : lists)
    for (auto& cable : list.cables)
      if (cable.b.node == "host1") cable.b.port = "02:77:00:00:00:01";
  const auto found = rig.found(rig.traced(rig.fabric), lists);
  EXPECT_EQ(found.fabric.link_count(), 32u);
  EXPECT_TRUE(found.fabric.find_link("host1--leaf1"));
  for (auto& list : lists)
    for (auto& cable : list.cables)
      if (cable.b.node == "host2") cable.b = {"host1", "mlx5_1"};  // two cables of a host of one NIC
  EXPECT_THAT(rig.found(rig.traced(rig.fabric), lists).gaps, Contains(HasSubstr("which NIC of host1")));
}

TEST(FoundFabric, RecordsAloneSayWhatTheyDoNotTell) {
  const Rig rig;
  auto planned = some_of(lldp_of(rig.fabric), "LLDP", false);
  for (auto& list : planned) list.hosts.clear();
  EXPECT_THAT(rig.found({}, planned).gaps, ElementsAre(HasSubstr("which nodes are hosts")));
  EXPECT_THAT(rig.found({}, lldp_of(rig.fabric)).gaps, IsEmpty());
  EXPECT_THAT(rig.found({}, some_of(lldp_of(rig.fabric), "LLDP of leaf1", true)).gaps,
              Contains(HasSubstr("only leaf1 told")));
  auto hosts = some_of(lldp_of(rig.fabric), "LLDP of host", true);
  for (auto& list : hosts) list.hosts.clear();
  EXPECT_THAT(rig.found({}, hosts).gaps, Contains(AllOf(HasSubstr("only host1"), HasSubstr("8 more told"))));
}

files::CableList lldp(const char* device, std::vector<files::Cable> cables) {
  return {.source = std::string("LLDP of ") + device, .cables = std::move(cables), .devices = {device}};
}
files::CableList plan(const char* source, std::vector<files::Cable> cables) {
  return {.source = source, .is_live = false, .cables = std::move(cables)};
}

TEST(ListedCables, TwoRowsOfOneTableThatClaimOnePortDisagree) {
  const auto leaf1 =
      lldp("leaf1", {{{"leaf1", "e1"}, {"host1", "eth0"}}, {{"leaf1", "e9"}, {"host1", "eth0"}}});
  const auto listed = listed_cables(std::vector{leaf1}, {});
  EXPECT_THAT(listed.far, IsEmpty());
  EXPECT_THAT(listed.disagreements, ElementsAre(AllOf(HasSubstr("host1 eth0"), HasSubstr("leaf1 e9"))));
  const auto host1 = lldp("host1", {{{"host1", "eth0"}, {"leaf1", "e1"}}});
  const auto settled = listed_cables(std::vector{leaf1, host1}, {});
  EXPECT_EQ(settled.far.at({"host1", "eth0"}).end.port, "e1") << "the far end's own table says so too";
  EXPECT_FALSE(settled.far.contains({"leaf1", "e9"}));
  EXPECT_THAT(settled.disagreements, SizeIs(1));
}

TEST(ListedCables, OfPlansThatContradictEachOtherNoneIsBelievedInAnyOrder) {
  const auto one = plan("NetBox", {{{"leaf1", "e1"}, {"spine1", "e1"}}});
  const auto other = plan("configuration of leaf1", {{{"leaf1", "e1"}, {"spine2", "e1"}}});
  const auto third = plan("configuration of spine1", {{{"spine1", "e1"}, {"leaf1", "e1"}}});
  for (const auto& lists : {std::vector{one, other, third}, std::vector{third, other, one},
                            std::vector{other, one, third}, std::vector{one, third, other}}) {
    const auto listed = listed_cables(lists, {});
    EXPECT_THAT(listed.far, IsEmpty());
    EXPECT_THAT(listed.disagreements,
                ElementsAre(AllOf(HasSubstr("leaf1 e1"), HasSubstr("spine2 e1"), HasSubstr("spine1 e1"))));
  }
}

TEST(ListedCables, APlanThatContradictsTheWireIsNotClaimedBesideIt) {
  const auto planned =
      plan("NetBox", {{{"leaf1", "e1"}, {"spine2", "e1"}}, {{"leaf2", "e1"}, {"spine1", "e1"}}});
  const auto listed =
      listed_cables(std::vector{planned, lldp("leaf1", {{{"leaf1", "e1"}, {"spine1", "e1"}}})}, {});
  EXPECT_THAT(listed.far, SizeIs(2)) << "one cable, from both its ends";
  EXPECT_THAT(listed.disagreements, SizeIs(2));
  FoundSources sources;
  sources.listed = listed;
  const auto found = found_fabric(sources);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->fabric.link_count(), 1u);
}

TEST(ListedCables, ARowWithANameThatNoNodeCanHaveIsLeftOut) {
  const auto listed = listed_cables(std::vector{lldp("leaf1", {{{"leaf1", "m1"}, {"HP LaserJet 4", "1"}},
                                                               {{"leaf1", "e1"}, {"host1", "eth0"}}})},
                                    {});
  EXPECT_THAT(listed.far, SizeIs(2));
  EXPECT_THAT(listed.remarks, ElementsAre(AllOf(HasSubstr("leaf1 m1"), HasSubstr("HP LaserJet 4"))));
}

TEST(HostNics, AreThoseOfRdmaDevicesElseAllButTheOneItIsReachedBy) {
  const auto at = [](const char* text) { return IpAddress::parse(text).value(); };
  files::NicList list{
      "h",
      {{"lo", {at("127.0.0.1")}}, {"mgmt", {at("172.31.0.2")}}, {"eth1", {at("fe80::1"), at("10.0.1.1")}}},
      at("172.31.0.2")};
  const auto chosen = choose_nics("h", list, std::nullopt);
  ASSERT_THAT(chosen.nics, SizeIs(1));
  EXPECT_EQ(chosen.nics[0].interface, "eth1");
  list.nics.push_back({"eth2", {at("10.0.2.1")}, "mlx5_0"});
  EXPECT_EQ(choose_nics("h", list, std::nullopt).nics[0].interface, "eth2");
  EXPECT_EQ(choose_nics("h", list, parse_prefix("172.16.0.0/12").value()).nics[0].interface, "mgmt");
  EXPECT_FALSE(parse_prefix("10.0.0.0/33"));
  EXPECT_FALSE(fabric_of_hosts({{"a", {{"e", at("10.0.0.1"), {}}}}, {"b", {{"e", at("10.0.0.1"), {}}}}}));
}

TEST(TableOfNics, LeavesOutWhatTheOtherPortsOfAHostHear) {
  const auto at = [](const char* text) { return IpAddress::parse(text).value(); };
  files::CableList table{
      .source = "LLDP of h",
      .cables = {{{"h", "eth1"}, {"leaf1", "Ethernet4"}}, {{"h", "mgmt"}, {"office", "ge-0/0/1"}}},
      .known_by = {{{"leaf1", ""}, at("10.9.0.1")}, {{"office", ""}, at("10.9.0.2")}},
      .devices = {"h"},
      .switches = {"leaf1", "office"}};
  const auto left = table_of_nics(table, {"h", {{"eth1", at("10.0.1.1"), {}}}});
  ASSERT_THAT(left.cables, SizeIs(1));
  EXPECT_EQ(left.cables[0].b.node, "leaf1");
  EXPECT_THAT(left.known_by, SizeIs(1));
  EXPECT_THAT(left.switches, testing::ElementsAre("leaf1"));
  EXPECT_THAT(table_of_nics(table, {"h", {}}).cables, SizeIs(0));
}

}  // namespace
}  // namespace weft::discover
