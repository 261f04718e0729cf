#include "collectors/report/discovery.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "topology/model/addressing.hpp"
#include "topology/model/clos.hpp"

namespace weft::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Two hosts, two leaves, a spine, of which all addresses are known.
Discovery whole() {
  Fabric fabric = *make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1});
  auto addresses = plan_addresses(fabric, IpFamily::v4)->book;
  return {
      .found = {.fabric = std::move(fabric), .addresses = std::move(addresses)}, .traces = 1, .records = 2};
}

/// The same, with something of each kind left open.
Discovery left_open() {
  auto discovery = whole();
  discovery.found.gaps = {"a switch above leaf1 never answers"};
  discovery.found.disagreements = {"host1: LLDP says leaf2, traces leaf1"};
  discovery.found.open = {{{*IpAddress::parse("10.0.0.77")}, "a switch above leaf1"}};
  discovery.found.rates_assumed = 3;
  discovery.differences = {"leaf1--spine1 is not in the file"};
  discovery.troubles = {"host9: no route to host"};
  discovery.against = "design.yaml";
  return discovery;
}

TEST(DiscoveryTable, CountsWhatWasFoundAndByWhat) {
  const auto table = discovery_table(whole(), 80);
  EXPECT_THAT(table, HasSubstr("2 hosts with 2 NICs, 2 leaves, 1 spine\n"));
  EXPECT_THAT(table, HasSubstr("4 cables: 2 of hosts, 2 between switches\n"));
  EXPECT_THAT(table, HasSubstr("by 1 trace and 2 records\n"));
  for (const char* word : {"unknown:", "disagree:", "differs:", "assumed:", "addresses to complete"})
    EXPECT_THAT(table, Not(HasSubstr(word)));
}

TEST(DiscoveryTable, SaysWhatIsOpenAssumedContradictedAndDifferent) {
  const auto table = discovery_table(left_open(), 80);
  EXPECT_THAT(table, AllOf(HasSubstr("unknown: a switch above leaf1"), HasSubstr("disagree: host1"),
                           HasSubstr("differs: leaf1--spine1"), HasSubstr("assumed: 400"),
                           HasSubstr("of 3 cables"), HasSubstr("NODE/PORT: \"10.0.0.77\"")));
}

TEST(DiscoveryTable, FitsANarrowTerminalButForWhatIsToBePasted) {
  auto discovery = left_open();
  discovery.found.open.clear();
  std::istringstream lines(discovery_table(discovery, 40));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 40u) << line;
}

TEST(DiscoveryTable, SaysThatNothingDiffersOnlyWhereAFileWasGiven) {
  auto discovery = whole();
  EXPECT_THAT(discovery_table(discovery, 80), Not(HasSubstr("no cable found differs")));
  discovery.against = "design.yaml";
  EXPECT_THAT(discovery_table(discovery, 80), HasSubstr("no cable found differs from design.yaml"));
}

TEST(DiscoveryYaml, IsAFabricFileWhateverIsNotKnown) {
  const auto discovery = left_open();
  const auto text = discovery_yaml(discovery);
  const auto again = files::parse_fabric_file(text, "written");
  ASSERT_TRUE(again) << again.error().message << "\n" << text;
  EXPECT_EQ(again->fabric.link_count(), 4u);
  const PortId nic = *again->fabric.find_nic("host2");
  EXPECT_EQ(again->addresses.address_of(nic),
            discovery.found.addresses.address_of(*discovery.found.fabric.find_nic("host2")));
  EXPECT_THAT(text, AllOf(HasSubstr("# unknown: a switch above leaf1"), HasSubstr("# differs: leaf1--spine1"),
                          HasSubstr("#    NODE/PORT: \"10.0.0.77\"")));
}

TEST(DiscoveryJson, HasAllOfItForPrograms) {
  const auto json = nlohmann::json::parse(discovery_json(left_open(), {{}, "1.0"}));
  EXPECT_EQ(json.at("schema"), "weft.discovery/1");
  EXPECT_EQ(json.at("traces"), 1);
  EXPECT_EQ(json.at("records"), 2);
  EXPECT_EQ(json.at("unknown").size(), 1u);
  EXPECT_EQ(json.at("assumed").size(), 1u);
  EXPECT_EQ(json.at("open_addresses").at(0).at("of"), "a switch above leaf1");
  EXPECT_EQ(json.at("open_addresses").at(0).at("addresses").at(0), "10.0.0.77");
  EXPECT_EQ(json.at("disagreements").size(), 1u);
  EXPECT_EQ(json.at("differences").size(), 1u);
  EXPECT_EQ(json.at("troubles").at(0), "host9: no route to host");
  EXPECT_GE(json.at("addresses").size(), 2u) << "of the NICs at least";
}

}  // namespace
}  // namespace weft::report
