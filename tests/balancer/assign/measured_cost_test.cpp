#include "balancer/assign/measured_cost.hpp"

#include <gtest/gtest.h>

#include "topology/model/clos.hpp"

namespace weft::assign {
namespace {

using std::chrono::microseconds;

class MeasuredCostOfASweep : public testing::Test {
 protected:
  PathSetId path(std::initializer_list<const char*> nodes) {
    std::vector<ChannelId> channels;
    for (auto at = nodes.begin(); at + 1 != nodes.end(); ++at)
      channels.push_back(*fabric_.find_channel(std::string(*at) + "->" + *(at + 1)));
    return seen_.paths.only(seen_.paths.intern(channels));
  }
  void probe(PathSetId path, int size, microseconds p50) {
    seen_.probes.push_back(
        {.path = path, .sent = 100, .size = Bytes(size), .rtt = RttQuantiles{p50, p50 * 2}});
  }
  void load(PathSetId path, std::uint32_t round, double mbit, bool stalled = false) {
    seen_.loads.push_back(
        {path, round, Bandwidth::mbit(50), Bandwidth::mbit(50), Bandwidth::mbit(mbit), stalled});
  }

  Fabric fabric_ = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  Observations seen_;
};

TEST_F(MeasuredCostOfASweep, HalvesTheRoundTripsOfTheSmallestProbesWithinALeafAndAcross) {
  const auto within = path({"host1", "leaf1", "host2"});
  const auto across = path({"host1", "leaf1", "spine1", "leaf2", "host3"});
  for (const int us : {8, 10, 90}) probe(within, 128, microseconds(us));
  for (const int us : {20, 22, 24}) probe(across, 128, microseconds(us));
  probe(across, 4096, microseconds(400));
  const auto cost = measured_cost(fabric_, seen_);
  ASSERT_TRUE(cost) << cost.error().message;
  EXPECT_EQ(cost->latency_in_leaf, microseconds(5));
  EXPECT_EQ(cost->latency_across, microseconds(11));
  EXPECT_FALSE(cost->link);
}

TEST_F(MeasuredCostOfASweep, TakesALinkForWhatArrivedOverItAtMostOfFlowsTogether) {
  const auto a = path({"host1", "leaf1", "spine1", "leaf2", "host3"});
  const auto b = path({"host2", "leaf1", "spine1", "leaf2", "host4"});
  probe(a, 128, microseconds(20));
  load(a, 0, 20);
  load(b, 0, 25);  // 45 together
  load(a, 1, 40);
  load(b, 2, 90, true);  // its sender stalled: no evidence
  const auto cost = measured_cost(fabric_, seen_);
  ASSERT_TRUE(cost && cost->link);
  EXPECT_NEAR(cost->link->bits_per_second(), 45e6, 1);
  EXPECT_EQ(cost->latency_in_leaf, cost->latency_across);
}

TEST_F(MeasuredCostOfASweep, SaysThatRoundTripsAreMissing) {
  seen_.probes.push_back({.path = path({"host1", "leaf1", "host2"}), .sent = 100});
  const auto cost = measured_cost(fabric_, seen_);
  ASSERT_FALSE(cost);
  EXPECT_NE(cost.error().message.find("round-trip"), std::string::npos);
}

TEST_F(MeasuredCostOfASweep, ASlowerLinkThanTheFileSaysCostsMoreTime) {
  const auto nics = fabric_.nics();
  const std::vector<PortId> ranks(nics.begin(), nics.end());
  const MeasuredCost file{microseconds(5), microseconds(5)};
  MeasuredCost slow = file;
  slow.link = Bandwidth::mbit(50);
  const auto quick = all_reduce_times(fabric_, {}, ranks, Bytes(1'000'000), file).front().time;
  EXPECT_GT(all_reduce_times(fabric_, {}, ranks, Bytes(1'000'000), slow).front().time, quick * 100);
}

}  // namespace
}  // namespace weft::assign
