#include "topology/routing/min_hop_tables.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <set>

#include "topology/model/clos.hpp"
#include "topology/model/fabric_builder.hpp"
#include "topology/model/ib_design.hpp"
#include "topology/routing/routing_report.hpp"

namespace weft::routing {
namespace {

InfinibandFabric numbered(Fabric fabric, std::uint8_t lmc) {
  InfinibandFabric whole{.fabric = std::move(fabric), .inventory = {}, .remarks = {}};
  whole.inventory = design_inventory(whole.fabric);
  EXPECT_TRUE(assign_lids(whole.fabric, lmc, whole.inventory));
  return whole;
}
InfinibandFabric numbered(const ClosSpec& spec, std::uint8_t lmc) {
  return numbered(make_clos(spec).value(), lmc);
}

std::size_t paths_between(const InfinibandFabric& whole, const ForwardingTables& tables, const char* from,
                          const char* to) {
  std::set<std::vector<ChannelId>> paths;
  const auto lids = *tables.lids_of(whole.fabric.find_nic(to).value());
  for (std::uint32_t lid = lids.base.value(); lid < lids.end(); ++lid) {
    const auto route = tables.walk(whole.fabric.find_nic(from).value(), Lid(static_cast<std::uint16_t>(lid)));
    EXPECT_EQ(route.end, RouteEnd::arrived);
    paths.emplace(route.path().begin(), route.path().end());
  }
  return paths.size();
}

TEST(MinHopTables, EveryRouteIsShortGoesUpThenDownAndTheSpinesAreUsedAlike) {
  const auto whole = numbered({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}, 0);
  const auto report = report_routing(whole, fill_min_hop(whole));
  EXPECT_EQ(report.routes, 16u * 15u);
  EXPECT_EQ(report.unreachable, 0u);
  EXPECT_TRUE(report.shortest);
  EXPECT_TRUE(report.up_down);
  EXPECT_TRUE(report.credit_loop.empty());
  EXPECT_DOUBLE_EQ(report.top.busiest_over_mean, 1.0);
}

/// As measured with OpenSM 3.3.23: minhop gives exactly 2, 4 and 8 paths.
TEST(MinHopTables, TheLidsOfANicTakeAsManyPathsAsThereAre) {
  for (const std::uint8_t lmc : std::to_array<std::uint8_t>({1, 2, 3})) {
    const auto whole = numbered({.leaves = 3, .spines = 8, .hosts_per_leaf = 3}, lmc);
    EXPECT_EQ(paths_between(whole, fill_min_hop(whole), "host1", "host9"), 1u << lmc);
  }
  const auto few = numbered({.leaves = 3, .spines = 3, .hosts_per_leaf = 2}, 2);
  EXPECT_EQ(paths_between(few, fill_min_hop(few), "host1", "host5"), 3u);
}

/// Switches in a tree of so many levels, two of the level below under each; hosts at the lowest.
Fabric tree(int levels) {
  FabricBuilder builder("tree", FabricKind::infiniband);
  std::vector<NodeId> below;
  for (int i = 0; i < 1 << (levels - 1); ++i) {
    below.push_back(
        builder.add_node({.name = fmt::format("h{}", i), .kind = NodeKind::host, .tier = Tier::host})
            .value());
  }
  for (int level = 1; level <= levels; ++level) {
    const std::size_t per_switch = level == 1 ? 1 : 2;
    std::vector<NodeId> these;
    for (std::size_t i = 0; i < below.size(); i += per_switch) {
      these.push_back(builder
                          .add_node({.name = fmt::format("s{}-{}", level, i),
                                     .tier = tier_of_level(static_cast<std::size_t>(level))})
                          .value());
      for (std::size_t k = 0; k < per_switch; ++k)
        builder.connect(below[i + k], these.back(), Bandwidth::gbit(200));
    }
    below = these;
  }
  return std::move(builder).build();
}

TEST(MinHopTables, OfATreeOfFourLevelsTheTopIsTheHighestAlone) {
  const auto whole = numbered(tree(4), 0);
  const auto report = report_routing(whole, fill_min_hop(whole));
  EXPECT_EQ(report.unreachable, 0u);
  ASSERT_EQ(report.top.switches.size(), 1u);
  EXPECT_EQ(whole.fabric.name_of(report.top.switches[0].first), "s4-0");
  EXPECT_TRUE(report.up_down);
}

TEST(MinHopTables, OfARingOfSwitchesNoPromiseOfUpThenDownIsMade) {
  FabricBuilder builder("ring", FabricKind::infiniband);
  std::vector<NodeId> ring;
  for (int i = 0; i < 5; ++i) {
    const NodeId host =
        builder.add_node({.name = fmt::format("h{}", i), .kind = NodeKind::host, .tier = Tier::host}).value();
    ring.push_back(builder.add_node({.name = fmt::format("s{}", i)}).value());
    builder.connect(host, ring.back(), Bandwidth::gbit(200));
  }
  for (std::size_t i = 0; i < 5; ++i) builder.connect(ring[i], ring[(i + 1) % 5], Bandwidth::gbit(200));
  const auto whole = numbered(std::move(builder).build(), 0);
  const auto report = report_routing(whole, fill_min_hop(whole));
  ASSERT_FALSE(report.credit_loop.empty());
  EXPECT_EQ(describe_engine(report).find("up then down"), std::string::npos) << describe_engine(report);
}

TEST(MinHopTables, InThreeTiersAllIsReachedOverTheCores) {
  const auto whole = numbered(
      make_pod_clos({.pods = 3, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 2}).value(), 1);
  const auto report = report_routing(whole, fill_min_hop(whole));
  EXPECT_EQ(report.unreachable, 0u);
  EXPECT_TRUE(report.shortest);
  EXPECT_TRUE(report.up_down);
  EXPECT_EQ(paths_between(whole, fill_min_hop(whole), "host1", "host12"), 2u);
}

/// As measured with OpenSM 3.3.23 on this fabric: leaf and spine turn over a NIC's LIDs in step, so that a
/// spine gets one LID in four, which it sends to one core of its four. 12 of 16 cores carry nothing.
TEST(MinHopTables, WithSeveralLidsThreeTiersPolariseAsUnderOpenSM) {
  const auto whole = numbered(
      make_pod_clos({.pods = 4, .leaves = 2, .spines = 4, .cores = 16, .hosts_per_leaf = 4}).value(), 2);
  const auto report = report_routing(whole, fill_min_hop(whole));
  EXPECT_EQ(report.unreachable, 0u);
  EXPECT_DOUBLE_EQ(report.top.busiest_over_mean, 4.0);
  const auto used =
      std::ranges::count_if(report.top.switches, [](const auto& use) { return use.second > 0; });
  EXPECT_EQ(used, 4);
}

TEST(MinHopTables, ADeadCableIsRoutedAroundAndWhatItCutsOffHasNoEntry) {
  const auto whole = numbered({.leaves = 3, .spines = 2, .hosts_per_leaf = 2}, 1);
  const std::vector<LinkId> dead{*whole.fabric.find_link("leaf1--spine2"),
                                 *whole.fabric.find_link("host6--leaf3")};
  const auto tables = fill_min_hop(whole, dead);
  EXPECT_EQ(paths_between(whole, tables, "host1", "host3"), 1u);
  EXPECT_EQ(paths_between(whole, tables, "host3", "host1"), 1u);
  EXPECT_EQ(paths_between(whole, tables, "host3", "host5"), 2u);
  const auto lost = tables.lids_of(whole.fabric.find_nic("host6").value())->base;
  EXPECT_EQ(tables.walk(whole.fabric.find_nic("host1").value(), lost).end, RouteEnd::no_entry);
}

TEST(AssignLids, NicsBeginAtAMultipleOfTheirNumberAndNobodySharesOne) {
  const auto whole = numbered({.leaves = 2, .spines = 1, .hosts_per_leaf = 2}, 2);
  std::set<std::uint32_t> held;
  const auto hold = [&](const LidRange& lids) {
    EXPECT_EQ(lids.base.value() % lids.count(), 0u);
    for (std::uint32_t lid = lids.base.value(); lid < lids.end(); ++lid) EXPECT_TRUE(held.insert(lid).second);
  };
  for (const PortId nic : whole.fabric.nics()) hold(*whole.inventory.ports[nic.value()].lids);
  for (const auto& node : whole.inventory.nodes)
    if (node.lids) hold(*node.lids);
  EXPECT_EQ(held.size(), 4u * 4u + 3u);
  EXPECT_FALSE(held.contains(0));
}

TEST(AssignLids, MoreThanThereAreAndPortsWithoutANameAreErrors) {
  const auto big = make_clos({.leaves = 200, .spines = 4, .hosts_per_leaf = 40}).value();
  auto inventory = design_inventory(big);
  EXPECT_TRUE(assign_lids(big, 2, inventory));
  const auto refused = assign_lids(big, 3, inventory);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("8000 NICs with 8 LIDs each"));
  const auto wide = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 300}).value();
  inventory = design_inventory(wide);
  EXPECT_THAT(assign_lids(wide, 0, inventory).error().message, ::testing::HasSubstr("at most 254"));
}

}  // namespace
}  // namespace weft::routing
