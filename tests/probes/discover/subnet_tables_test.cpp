#include "probes/discover/subnet_tables.hpp"

#include <gmock/gmock.h>

#include "tests/fakes/fake_subnet.hpp"
#include "topology/model/fabric.hpp"
#include "topology/routing/routing_report.hpp"

namespace weft::discover {
namespace {

using fakes::FakeSubnet;
using fakes::make_subnet;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr mad::MadLimits kLimits{.timeout = milliseconds(300)};

struct Found {
  InfinibandFabric fabric;
  SubnetRoutes routes;
};

Found discovered(FakeSubnet& subnet) {
  auto discovery = discover_subnet(subnet, kLimits).value();
  return {build_infiniband_fabric(discovery.subnet, "found").value(), std::move(discovery.routes)};
}

routing::AdaptiveRouting adaptive_at(const Found& found, const TableReading& reading, const char* name) {
  return reading.tables.adaptive(*reading.tables.index_of(found.fabric.fabric.find_node(name).value()));
}

TEST(SubnetTables, EntriesAreThoseThatTheSwitchesHold) {
  FakeSubnet subnet(make_subnet(2, 1, 1));
  subnet.tables[Guid(0x2001)] = {0xFF, 1, 2};
  const auto found = discovered(subnet);
  const auto reading = read_tables(subnet, found.fabric, found.routes, kLimits);
  ASSERT_TRUE(reading) << reading.error().message;
  const auto leaf = found.fabric.fabric.find_node("leaf1").value();
  EXPECT_EQ(reading->tables.port(leaf, Lid(2)), 2);
  EXPECT_FALSE(reading->tables.port(leaf, Lid(3)));
  EXPECT_TRUE(reading->remarks.empty());
}

TEST(SubnetTables, ABlockThatDoesNotComeIsARemark) {
  FakeSubnet subnet(make_subnet(2, 1, 1));
  const auto found = discovered(subnet);
  subnet.ignored.insert({Guid(0x2001), mad::MadAttribute::linear_forwarding_table});
  const auto reading = read_tables(subnet, found.fabric, found.routes, kLimits);
  ASSERT_TRUE(reading);
  ASSERT_EQ(reading->remarks.size(), 1u);
  EXPECT_THAT(reading->remarks[0], HasSubstr("leaf1: 1 blocks"));
}

TEST(SubnetTables, SwitchesSayWhetherTheyRouteAdaptivelyAndForWhichServiceLevels) {
  FakeSubnet subnet(make_subnet(3, 1, 1));
  subnet.adaptive[Guid(0x2001)] = {.enabled = true, .service_levels = 0xFFFF};
  subnet.adaptive[Guid(0x2002)] = {.enabled = true, .service_levels = 0xFFFE};
  subnet.adaptive[Guid(0x2003)] = {.enabled = false, .service_levels = 0xFFFF};
  const auto found = discovered(subnet);
  const auto reading = read_tables(subnet, found.fabric, found.routes, kLimits).value();
  EXPECT_EQ(adaptive_at(found, reading, "leaf1"), routing::AdaptiveRouting::on);
  EXPECT_EQ(adaptive_at(found, reading, "leaf2"), routing::AdaptiveRouting::other_service_levels);
  EXPECT_EQ(adaptive_at(found, reading, "leaf3"), routing::AdaptiveRouting::off);
  EXPECT_EQ(adaptive_at(found, reading, "spine1"),
            routing::AdaptiveRouting::off);  // it does not know the attribute
}

TEST(SubnetTables, SwitchesOfAnotherVendorAreNotAskedAndSilentOnesCostOneTimeoutInAll) {
  auto truth = make_subnet(3, 2, 1);
  for (auto& node : truth.nodes)
    if (node.guid == Guid(0x3001)) node.about.vendor = 0x8f1;
  FakeSubnet subnet(truth);
  const auto found = discovered(subnet);
  for (const std::uint64_t guid : {0x2001, 0x2002, 0x2003})
    subnet.ignored.insert({Guid(guid), mad::MadAttribute::adaptive_routing});
  const auto before = subnet.now();
  const auto reading =
      read_tables(subnet, found.fabric, found.routes, {.timeout = milliseconds(300), .attempts = 1});
  ASSERT_TRUE(reading);
  EXPECT_LE(subnet.now() - before, milliseconds(301));
  EXPECT_EQ(subnet.asked[0xFF20], 4u);
  EXPECT_EQ(adaptive_at(found, *reading, "leaf1"), routing::AdaptiveRouting::unknown);
  EXPECT_EQ(adaptive_at(found, *reading, "spine1"), routing::AdaptiveRouting::unknown);
}

TEST(SubnetTables, WithoutASubnetManagerThereAreNoRoutesAndThatIsSaid) {
  auto truth = make_subnet(2, 1, 1);
  for (auto& node : truth.nodes)
    for (auto& [number, port] : node.ports) port.lids.reset();
  FakeSubnet subnet(truth);
  const auto found = discovered(subnet);
  const auto reading = read_tables(subnet, found.fabric, found.routes, kLimits);
  ASSERT_TRUE(reading);
  EXPECT_THAT(describe_engine(report_routing(found.fabric, reading->tables)), HasSubstr("no subnet manager"));
}

TEST(SubnetTables, ATableOfPortsThatNobodyHasLeadsNowhere) {
  FakeSubnet subnet(make_subnet(2, 1, 1));
  for (const std::uint64_t guid : {0x2001, 0x2002, 0x3001}) {
    subnet.tables[Guid(guid)].assign(64, 0);
    subnet.garbled.insert({Guid(guid), mad::MadAttribute::linear_forwarding_table});
  }
  const auto found = discovered(subnet);
  const auto reading = read_tables(subnet, found.fabric, found.routes, kLimits);
  ASSERT_TRUE(reading);
  const auto report = report_routing(found.fabric, reading->tables);
  EXPECT_EQ(report.unreachable, report.routes);
}

}  // namespace
}  // namespace weft::discover
