#include "balancer/demand/collectives.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "topology/model/clos.hpp"

namespace weft::demand {
namespace {

Fabric sixteen() { return *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}); }

std::vector<PortId> ranks(const Fabric& fabric, std::size_t n) {
  return {fabric.nics().begin(), fabric.nics().begin() + static_cast<std::ptrdiff_t>(n)};
}

/// Bytes each rank sends, over all phases.
std::map<PortId, std::int64_t> sent(const Demand& demand) {
  std::map<PortId, std::int64_t> bytes;
  for (const Phase& phase : demand.phases)
    for (const Flow& flow : phase.flows) bytes[flow.src] += flow.bytes.count();
  return bytes;
}

TEST(Collectives, EveryRankOfARingSendsTwiceItsBufferLessTwoNths) {
  const auto fabric = sixteen();
  const auto demand = make_collective(Collective::ring, ranks(fabric, 8), Bytes(800));
  ASSERT_EQ(demand.phases.size(), 1u);
  EXPECT_EQ(demand.phases[0].flows.size(), 8u);
  EXPECT_EQ(demand.phases[0].flows.back(), (Flow{fabric.nics()[7], fabric.nics()[0], Bytes(1400)}));
}

TEST(Collectives, ReduceScatterThenAllGatherSendWhatARingAllReduceSends) {
  const auto fabric = sixteen();
  const auto r = ranks(fabric, 8);
  const auto ring = sent(make_collective(Collective::ring, r, Bytes(800)));
  const auto scatter = sent(make_collective(Collective::reduce_scatter, r, Bytes(800)));
  const auto gather = sent(make_collective(Collective::all_gather, r, Bytes(800)));
  for (const PortId rank : r) EXPECT_EQ(ring.at(rank), scatter.at(rank) + gather.at(rank));
}

TEST(Collectives, RecursiveDoublingExchangesTheWholeBufferWithRanksAtPowersOfTwo) {
  const auto fabric = sixteen();
  const auto r = ranks(fabric, 8);
  const auto demand = make_collective(Collective::recursive_doubling, r, Bytes(100));
  ASSERT_EQ(demand.phases.size(), 3u);
  EXPECT_EQ(demand.phases[2].flows[1], (Flow{r[1], r[5], Bytes(100)}));
}

TEST(Collectives, HalvingAndDoublingSendsAsLittleAsARing) {
  const auto fabric = sixteen();
  const auto r = ranks(fabric, 8);
  const auto demand = make_collective(Collective::halving_doubling, r, Bytes(800));
  EXPECT_EQ(demand.phases.size(), 6u);
  EXPECT_EQ(sent(demand), sent(make_collective(Collective::ring, r, Bytes(800))));
}

TEST(Collectives, RanksPastAPowerOfTwoAreFoldedInAndServedAtTheEnd) {
  const auto fabric = sixteen();
  const auto r = ranks(fabric, 6);
  const auto demand = make_collective(Collective::recursive_doubling, r, Bytes(100));
  ASSERT_EQ(demand.phases.size(), 4u);
  EXPECT_EQ(demand.phases.front().flows[0], (Flow{r[4], r[0], Bytes(100)}));
  EXPECT_EQ(demand.phases.back().flows[1], (Flow{r[1], r[5], Bytes(100)}));
}

TEST(Collectives, BothTreesReachEveryRank) {
  const auto fabric = sixteen();
  for (const std::size_t n : {2u, 5u, 8u, 16u}) {
    const auto r = ranks(fabric, n);
    const auto demand = make_collective(Collective::tree, r, Bytes(100));
    EXPECT_EQ(demand.phases[0].flows.size(), 4 * (n - 1)) << n;
    std::set<PortId> reached;
    for (const Flow& flow : demand.phases[0].flows) reached.insert(flow.dst);
    EXPECT_EQ(reached.size(), n);
  }
}

TEST(Collectives, AllToAllIsEveryOrderedPairOnce) {
  const auto fabric = sixteen();
  const auto demand = make_collective(Collective::all_to_all, ranks(fabric, 16), Bytes(1600));
  std::set<std::pair<PortId, PortId>> pairs;
  for (const Flow& flow : demand.phases[0].flows) {
    EXPECT_NE(flow.src, flow.dst);
    EXPECT_EQ(flow.bytes, Bytes(100));
    pairs.emplace(flow.src, flow.dst);
  }
  EXPECT_EQ(pairs.size(), 240u);
}

TEST(Collectives, InATurnOfAnAllToAllEveryRankSendsAndReceivesOnce) {
  const auto fabric = sixteen();
  const auto demand = make_collective(Collective::all_to_all, ranks(fabric, 11), Bytes(1100));
  std::set<std::pair<std::uint32_t, PortId>> sent;
  std::set<std::pair<std::uint32_t, PortId>> received;
  for (const Flow& flow : demand.phases[0].flows) {
    EXPECT_TRUE(sent.emplace(flow.turn, flow.src).second);
    EXPECT_TRUE(received.emplace(flow.turn, flow.dst).second);
    EXPECT_LE(flow.turn, 10u);
    EXPECT_GE(flow.turn, 1u);
  }
}

TEST(Collectives, HierarchicalRunsOneRingARailWithItsShare) {
  const auto fabric = *make_rails({.groups = 2, .hosts_per_group = 2, .rails = 4, .spines = 4});
  const auto demand = make_hierarchical(fabric, fabric.hosts(), Collective::ring, Bytes(4000));
  ASSERT_EQ(demand.phases.size(), 1u);
  EXPECT_EQ(demand.phases[0].flows.size(), 16u);
  for (const Flow& flow : demand.phases[0].flows) {
    EXPECT_EQ(fabric.port(flow.src).number, fabric.port(flow.dst).number);
    EXPECT_EQ(flow.bytes, Bytes(1500));  // 2 * 3/4 of a quarter
  }
}

TEST(Collectives, EveryNameIsReadBackAndOneRankHasNothingToSend) {
  const auto fabric = sixteen();
  for (const auto name : {"ring", "recursive-doubling", "halving-doubling", "tree", "all-to-all",
                          "reduce-scatter", "all-gather", "pipeline"}) {
    const auto collective = parse_collective(name);
    ASSERT_TRUE(collective) << name;
    EXPECT_EQ(to_string(*collective), name);
    EXPECT_TRUE(make_collective(*collective, ranks(fabric, 1), Bytes(100)).phases.empty());
  }
  EXPECT_FALSE(parse_collective("rings"));
}

TEST(Hosts, AreANumberOrNamesAndMistakesSayWhich) {
  const auto fabric = sixteen();
  EXPECT_EQ(parse_hosts(fabric, "3")->size(), 3u);
  EXPECT_EQ(fabric.name_of(parse_hosts(fabric, "host7,host2")->front()), "host7");
  const auto range = parse_hosts(fabric, "host[3-5],host1");
  ASSERT_TRUE(range && range->size() == 4);
  EXPECT_EQ(fabric.name_of(range->front()), "host3");
  EXPECT_EQ(fabric.name_of(range->back()), "host1");
  EXPECT_FALSE(parse_hosts(fabric, "host[3-"));
  EXPECT_FALSE(parse_hosts(fabric, "host[15-17]"));
  EXPECT_EQ(parse_hosts(fabric, "17").error().message,
            "17 hosts asked for: expected 2 to 16, the hosts of fabric clos");
  EXPECT_EQ(parse_hosts(fabric, "host1,leaf1").error().message,
            "hosts: 'leaf1' is a switch: expected a host");
  EXPECT_EQ(parse_hosts(fabric, "host1,host1").error().message, "hosts: 'host1' stands twice");
  EXPECT_FALSE(parse_hosts(fabric, ""));
}

TEST(Demand, JobsTogetherKeepTheirPhasesInStepAndSinglePhasesRunThroughout) {
  const auto fabric = sixteen();
  const auto r = ranks(fabric, 8);
  const std::vector<PortId> others(fabric.nics().begin() + 8, fabric.nics().end());
  const auto both = combine({make_collective(Collective::recursive_doubling, r, Bytes(100)),
                             make_collective(Collective::ring, others, Bytes(100))});
  ASSERT_EQ(both.phases.size(), 3u);
  for (const Phase& phase : both.phases) EXPECT_EQ(phase.flows.size(), 16u);
}

}  // namespace
}  // namespace weft::demand
