// What the simulator's receivers counted, when its batches run, and what flows that share a link get.
#include "probes/engine/sim/sim_ledger.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "probes/engine/sim/sim_load.hpp"
#include "topology/model/addressing.hpp"
#include "topology/model/clos.hpp"

namespace weft::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// host1 and host2 on leaf1, host3 and host4 on leaf2, one spine.
class SimLedgerOfALine : public testing::Test {
 protected:
  PortId nic(std::string_view name) const { return *fabric_.find_nic(name); }
  SimReceipt receipt(std::string_view from, std::uint32_t spec, std::uint64_t packets) const {
    return {.from = nic(from),
            .to = nic("host3"),
            .spec = spec,
            .packets = packets,
            .size = Bytes(100),
            .start = seconds(1),
            .span = milliseconds(packets),
            .missing = std::vector<LossRun>{}};
  }
  /// All that a link of 400 Gbit/s carries in a millisecond.
  SimFlow full(std::string_view from, std::string_view to) const {
    return {.from = nic(from),
            .to = nic(to),
            .label = PathLabel(50'000),
            .rate = Bandwidth::gbit(400),
            .size = Bytes(4096),
            .packets = kFull,
            .duration = milliseconds(1)};
  }
  std::map<PortId, std::uint64_t> arrived(const std::vector<SimFlow>& flows) const {
    std::map<PortId, std::uint64_t> packets;
    for (const SimReceipt& receipt : simulate_load(world_, BatchId(1), flows))
      packets[receipt.to] += receipt.packets;
    return packets;
  }

  static constexpr std::uint64_t kFull = 12'207;
  Fabric fabric_ = *make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 2});
  AddressPlan plan_ = *plan_addresses(fabric_, IpFamily::v4);
  SimWorld world_{fabric_, plan_.book, {}};
  SimLedger ledger_{world_};
};

TEST_F(SimLedgerOfALine, RequestsOfABatchBeginTogetherAndBatchesOneAfterTheOther) {
  EXPECT_EQ(ledger_.begin(BatchId(1), seconds(2)), seconds(0));
  EXPECT_EQ(ledger_.begin(BatchId(1), seconds(3)), seconds(0));
  EXPECT_EQ(ledger_.begin(BatchId(2), seconds(1)), seconds(3)) << "the longest of the first is over";
  EXPECT_EQ(ledger_.begin(BatchId(1), seconds(9)), seconds(0)) << "it began then";
}

TEST_F(SimLedgerOfALine, ReceiptsAreOfTheirBatchAndReceiverBySenderThenSpec) {
  ledger_.add(BatchId(1),
              std::vector{receipt("host2", 0, 7), receipt("host1", 1, 5), receipt("host1", 0, 3)});
  const auto tallies = ledger_.received(BatchId(1), nic("host3"));
  ASSERT_EQ(tallies.size(), 3u);
  EXPECT_EQ(tallies[0].from, nic("host1"));
  EXPECT_EQ(tallies[0].packets, 3u);
  EXPECT_EQ(tallies[0].bytes, 300u);
  EXPECT_EQ(tallies[0].last - tallies[0].first, milliseconds(3));
  EXPECT_EQ(tallies[1].spec, 1u);
  EXPECT_EQ(tallies[2].from, nic("host2"));
  EXPECT_TRUE(ledger_.received(BatchId(1), nic("host4")).empty());
  EXPECT_TRUE(ledger_.received(BatchId(2), nic("host3")).empty());
}

TEST_F(SimLedgerOfALine, TwoReceiptsOfOneStreamAreOneTallyOfWhichTheOrderIsNotKnown) {
  ledger_.add(BatchId(1), std::vector{receipt("host1", 0, 3), receipt("host1", 0, 5)});
  const auto tallies = ledger_.received(BatchId(1), nic("host3"));
  ASSERT_EQ(tallies.size(), 1u);
  EXPECT_EQ(tallies[0].packets, 8u);
  EXPECT_EQ(tallies[0].last, seconds(1) + milliseconds(5));
  EXPECT_FALSE(tallies[0].missing);
}

TEST_F(SimLedgerOfALine, WhatTheHostDroppedIsToldInAllTalliesAndNothingAtAllInNone) {
  auto dropped = receipt("host1", 0, 3);
  dropped.dropped = 4;
  ledger_.add(BatchId(1), std::vector{dropped, receipt("host1", 1, 5), receipt("host2", 0, 0)});
  const auto tallies = ledger_.received(BatchId(1), nic("host3"));
  ASSERT_EQ(tallies.size(), 2u) << "nothing came of host2";
  EXPECT_EQ(tallies[0].dropped, 4u);
  EXPECT_EQ(tallies[1].dropped, 4u);
}

TEST_F(SimLedgerOfALine, OldBatchesMakeRoom) {
  for (std::uint32_t batch = 1; batch <= 100; ++batch)
    ledger_.add(BatchId(batch), std::vector{receipt("host1", 0, 3)});
  EXPECT_TRUE(ledger_.received(BatchId(1), nic("host3")).empty());
  EXPECT_EQ(ledger_.received(BatchId(100), nic("host3")).size(), 1u);
}

TEST_F(SimLedgerOfALine, FlowsThatShareALinkGetWhatItCarries) {
  const auto alone = arrived({full("host1", "host3")});
  EXPECT_GT(alone.at(nic("host3")), kFull * 9 / 10);
  const auto both = arrived({full("host1", "host3"), full("host2", "host4")});
  const auto together = both.at(nic("host3")) + both.at(nic("host4"));
  EXPECT_GT(together, kFull * 8 / 10);
  EXPECT_LT(together, kFull * 11 / 10);
}

TEST_F(SimLedgerOfALine, TheOrderInWhichSendersRanDoesNotMatter) {
  const std::vector flows{full("host1", "host3"), full("host2", "host4")};
  EXPECT_EQ(arrived(flows), arrived({flows[1], flows[0]}));
}

TEST_F(SimLedgerOfALine, AFlowThatIsAddedAfterSomebodyAskedSharesTheFabricFromThenOn) {
  ledger_.add(BatchId(1), std::vector{full("host1", "host3")});
  const auto alone = ledger_.received(BatchId(1), nic("host3")).at(0).packets;
  ledger_.add(BatchId(1), std::vector{full("host2", "host4")});
  EXPECT_LT(ledger_.received(BatchId(1), nic("host3")).at(0).packets, alone);
}

}  // namespace
}  // namespace weft::sim
