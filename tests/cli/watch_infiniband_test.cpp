#include "cli/watch_infiniband.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cli/commands.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/model/clos.hpp"
#include "topology/model/fabric.hpp"
#include "topology/model/ib_design.hpp"
#include "topology/routing/min_hop_tables.hpp"

namespace weft::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ClosSpec kShape{.leaves = 3, .spines = 2, .hosts_per_leaf = 2};

std::vector<PortId> nics_of(const Fabric& fabric) { return {fabric.nics().begin(), fabric.nics().end()}; }

/// The subnet of this fabric, with two LIDs a NIC.
InfinibandReading reading_of(const Fabric& expected) {
  InfinibandFabric found{.fabric = make_clos(kShape).value(), .inventory = {}, .remarks = {}};
  found.inventory = design_inventory(found.fabric);
  EXPECT_TRUE(assign_lids(found.fabric, 1, found.inventory));
  auto match = discover::match_fabrics(expected, found.fabric);
  auto tables = routing::fill_min_hop(found);
  return {std::move(found), {}, std::move(match), {std::move(tables), {}, {}}, {}};
}

TEST(PlanOfTables, CrossesEveryChannelByLidsOfBothEnds) {
  const Fabric fabric = make_clos(kShape).value();
  const auto reading = reading_of(fabric);
  const auto mapped = plan_of_tables(reading, fabric, nics_of(fabric), {});
  EXPECT_EQ(mapped.left_out, 0u);
  EXPECT_THAT(mapped.plan.uncovered, IsEmpty());
  EXPECT_THAT(mapped.plan.thin, IsEmpty());
  const auto has = [&](PortId nic, PathLabel label) {
    const auto lids = lids_of(reading, nic);
    return lids && label.value() >= lids->base.value() && label.value() < lids->base.value() + lids->count();
  };
  for (const watch::StandingNic& nic : mapped.plan.nics) {
    EXPECT_FALSE(nic.streams.empty());
    for (const watch::StandingStream& stream : nic.streams) {
      EXPECT_TRUE(has(stream.peer, stream.label));
      EXPECT_TRUE(has(nic.nic, stream.back_label));
    }
  }
}

TEST(PlanOfTables, IsOfTheNicsThatTakePart) {
  const Fabric fabric = make_clos(kShape).value();
  auto nics = nics_of(fabric);
  const PortId away = nics.back();
  nics.pop_back();
  const auto mapped = plan_of_tables(reading_of(fabric), fabric, nics, {});
  EXPECT_EQ(mapped.left_out, 1u);
  for (const watch::StandingNic& nic : mapped.plan.nics) {
    EXPECT_NE(nic.nic, away);
    for (const watch::StandingStream& stream : nic.streams) EXPECT_NE(stream.peer, away);
  }
}

TEST(OneNicAHost, BeginsWithThoseThatAreGivenAndEndsWithTheMostThatThereMayBe) {
  const Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  const auto all = nics_of(fabric);
  EXPECT_EQ(one_nic_a_host(fabric, {all[2], all[2]}, 8),
            (std::vector<PortId>{all[2], all[0], all[1], all[3]}));
  EXPECT_EQ(one_nic_a_host(fabric, {all[3]}, 2), (std::vector<PortId>{all[3], all[0]}));
}

TEST(DropNotes, TellOncePerSecondOfWhatIsNew) {
  std::size_t dropped = 5;
  DropNotes notes([&] { return dropped; });
  using namespace std::chrono_literals;
  EXPECT_FALSE(notes.news(10s)) << "from before the watch";
  dropped = 8;
  EXPECT_FALSE(notes.news(10500ms));
  EXPECT_THAT(notes.news(11s).value_or(""), HasSubstr("dropped 3 packets"));
  EXPECT_FALSE(notes.news(13s));
}

TEST(WatchOfInfiniband, SaysWhatThisHostLacksAndThatAdaptersAreNoMatterOfRoce) {
  const ScratchFile infiniband(
      "fabric: ib\nkind: infiniband\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 1}\n");
  const auto absent = call(watch_command, {"--fabric", infiniband.path(), "--device", "mlx5_9"});
  EXPECT_EQ(absent.status, 69);
  EXPECT_THAT(absent.err, HasSubstr("no InfiniBand management device for mlx5_9"));
  const ScratchFile roce(
      "fabric: small\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 1, link: 50M}\naddresses: {plan: ipv4}\n");
  const auto refused = call(watch_command, {"--fabric", roce.path(), "--device", "mlx5_0"});
  EXPECT_EQ(refused.status, 64);
  EXPECT_THAT(refused.err, HasSubstr("--device is of a live InfiniBand fabric"));
}

TEST(EngineOfAStandingAgent, IsNoneThatServesRunsAlone) {
  const auto refused = call(agent_command, {"--standing", "--fabric", "ib", "--engine", "dpdk", "--server",
                                            "nats://127.0.0.1:9", "--host", "host1", "--nic", "fe80::1"});
  EXPECT_EQ(refused.status, 64);
  EXPECT_THAT(refused.err,
              HasSubstr("standing probes are raw packets, queue pairs (verbs), or umad on InfiniBand"));
}

}  // namespace
}  // namespace weft::cli
