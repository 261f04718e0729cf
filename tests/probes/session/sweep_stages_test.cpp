// Which pings and which load a sweep has, by what is known so far.
#include <gtest/gtest.h>

#include "probes/session/sweep_load.hpp"
#include "probes/session/sweep_pings.hpp"
#include "tests/support/traced_fabric.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

/// host1 to host2 by leaf1, spine1, leaf2, of which the paths were traced, there and back.
class SweepOfOnePath : public testing::Test {
 protected:
  SweepOfOnePath() {
    for (const auto& [src, dst] : {std::pair(from_, to_), std::pair(to_, from_)}) {
      const auto path = path_by_choice(fabric_, results_.learner.ways(), src, dst, 0);
      EXPECT_TRUE(results_.learner.learn(src, dst, PathLabel(50'000),
                                         answers_along(fabric_, addresses_.book, path, path.size())));
    }
    over_ = results_.learner.find(from_, to_)->routes.at(0).paths;
  }
  /// The sizes that these stages send.
  static std::vector<Bytes> sizes(const std::vector<std::unique_ptr<Stage>>& stages) {
    std::vector<Bytes> all;
    for (const auto& stage : stages)
      for (const WorkItem& item : stage->next_wave())
        for (const auto& spec : std::get<datapath::PingRequest>(item.work).specs) all.push_back(spec.size);
    return all;
  }
  void saw(Bytes size, std::uint64_t lost) {
    results_.observations.probes.push_back({.path = over_, .sent = 100, .lost = lost, .size = size});
  }

  Fabric fabric_ = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  AddressPlan addresses_ = plan_addresses(fabric_, IpFamily::v4).value();
  SweepInputs in_{fabric_, addresses_.book, {}, RunId(1)};
  SweepResults results_{in_};
  PortId from_ = *fabric_.find_nic("host1");
  PortId to_ = *fabric_.find_nic("host2");
  PathSetId over_;
};

TEST_F(SweepOfOnePath, ProbesWithSmallAndWithLargePackets) {
  SweepPings pings(in_, results_);
  const auto stages = pings.probe();
  ASSERT_EQ(stages.size(), 2u);
  const auto sent = sizes(stages);
  ASSERT_FALSE(sent.empty());
  EXPECT_EQ(sent.front(), kSmallProbe);
  EXPECT_GT(sent.back(), Bytes(4000));
}

TEST_F(SweepOfOnePath, OfALongBudgetTheFirstProbesAreOverAfterSeconds) {
  in_.options.budget = std::chrono::seconds(100);
  in_.options.probes_per_second = 200;
  const auto stages = SweepPings(in_, results_).probe();
  ASSERT_EQ(stages.size(), 5u);  // of small packets 5, 5, 10 and 15 s; then the large ones
  std::vector<std::uint32_t> small;
  for (const auto& stage : stages)
    for (const WorkItem& item : stage->next_wave())
      for (const auto& spec : std::get<datapath::PingRequest>(item.work).specs)
        if (item.nic == from_ && spec.size == kSmallProbe) small.push_back(spec.count);
  EXPECT_EQ(small, (std::vector<std::uint32_t>{1000, 1000, 2000, 3000})) << "7,000 in all, as in one piece";
  in_.options.probes_per_second = 1;
  EXPECT_EQ(SweepPings(in_, results_).probe().size(), 2u) << "so few packets that parts would tell nothing";
}

TEST_F(SweepOfOnePath, OfManagementDatagramsThereIsOneSizeAndNoLoad) {
  in_.options.mads_alone = true;
  in_.options.load = LoadLevel::full;
  SweepPings pings(in_, results_);
  EXPECT_EQ(pings.probe().size(), 1u);
  SweepLoad load(in_, results_);
  EXPECT_FALSE(load.wanted());
  EXPECT_EQ(load.load(), nullptr);
  EXPECT_EQ(load.press({}), nullptr);
}

TEST_F(SweepOfOnePath, SizesBetweenAreTriedOnlyWhereLargePacketsAllVanishAndSmallOnesPass) {
  SweepPings pings(in_, results_);
  const auto large = sizes(pings.probe()).back();
  saw(kSmallProbe, 0);
  EXPECT_TRUE(pings.size().empty()) << "large ones were not sent yet";
  saw(large, 60);
  EXPECT_TRUE(pings.size().empty()) << "some came through";
  results_.observations.probes.back().lost = 100;
  const auto tried = sizes(pings.size());
  ASSERT_FALSE(tried.empty());
  EXPECT_EQ(tried.back(), large) << "once more: an outage is no limit";
  EXPECT_GT(tried.front(), kSmallProbe);
  EXPECT_LT(tried.front(), large);
  results_.observations.probes.front().lost = 100;
  EXPECT_TRUE(pings.size().empty()) << "nothing passes: that is no matter of size";
}

TEST_F(SweepOfOnePath, NothingIsSettledWhereNoHypothesisAsksForPackets) {
  SweepPings pings(in_, results_);
  (void)pings.probe();
  const ChannelId channel = *fabric_.find_channel("leaf1->spine1");
  diagnosis::Hypothesis asks_for_none;
  asks_for_none.channels = {channel};
  asks_for_none.packets = 0;
  EXPECT_TRUE(pings.settle({asks_for_none}).empty());
  auto asks = asks_for_none;
  asks.packets = 500;
  EXPECT_EQ(pings.settle({asks}).size(), 1u);
}

TEST_F(SweepOfOnePath, NothingIsLoadedUnlessItIsAskedFor) {
  SweepLoad none(in_, results_);
  EXPECT_EQ(none.load(), nullptr);
  in_.options.load = LoadLevel::light;
  SweepLoad light(in_, results_);
  const auto stage = light.load();
  ASSERT_NE(stage, nullptr);
  EXPECT_FALSE(stage->next_wave().empty());
}

TEST(SlowChannels, AreThoseOfFindingsOfOpenSetsAndOfHypothesesThatPassLess) {
  diagnosis::Assessment assessment;
  assessment.diagnosis.links = {{.link = LinkId(0)}, {.link = LinkId(1), .channel = ChannelId(3)}};
  assessment.diagnosis.sets = {{.alternatives = {{ChannelId(4)}, {ChannelId(6), ChannelId(8)}}}};
  diagnosis::Hypothesis slow;
  slow.channels = {ChannelId(10)};
  slow.passes = 0.5;
  auto whole = slow;
  whole.channels = {ChannelId(12)};
  whole.passes = 1;
  assessment.hypotheses = {slow, whole};
  EXPECT_EQ(slow_channels(assessment), (std::set{ChannelId(0), ChannelId(1), ChannelId(3), ChannelId(4),
                                                 ChannelId(6), ChannelId(8), ChannelId(10)}));
}

}  // namespace
}  // namespace weft::session
