#include "probes/plan/load_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "probes/plan/ping_plan.hpp"
#include "tests/support/traced_fabric.hpp"
#include "topology/model/clos.hpp"

namespace weft::plan {
namespace {

/// The lab of the demo, every pair with a label for each of the four paths.
struct Rig {
  Fabric fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  AddressPlan addresses = *plan_addresses(fabric, IpFamily::v4);
  PathTable table;
  PathLearner learner{fabric, addresses.book, table};

  Rig() {
    for (const NicPair& pair : choose_pairs(fabric, default_partners(fabric)))
      for (std::uint32_t spine = 0; spine < 4; ++spine)
        learner.learn(pair.src, pair.dst, PathLabel(50000 + spine),
                      answers_along(fabric, addresses.book,
                                    path_by_choice(fabric, learner.ways(), pair.src, pair.dst, spine), 4));
  }
  std::span<const ChannelId> channels(const PlannedFlow& flow) const {
    return table.channels(table.paths(flow.path)[0]);
  }
};

TEST(LoadPlan, LoadsEveryChannelAsOftenAsAskedAndNoneTwiceInARound) {
  const Rig rig;
  const auto rounds = plan_load_rounds(rig.fabric, rig.learner, 2, 100, 1);
  std::map<ChannelId, int> loaded;
  for (const LoadRound& round : rounds) {
    std::set<ChannelId> busy;
    for (const PlannedFlow& flow : round)
      for (const ChannelId channel : rig.channels(flow)) {
        EXPECT_TRUE(busy.insert(channel).second) << rig.fabric.name_of(channel);
        ++loaded[channel];
      }
  }
  EXPECT_EQ(loaded.size(), rig.fabric.channel_count());
  for (const auto& [channel, times] : loaded) EXPECT_GE(times, 2) << rig.fabric.name_of(channel);
  EXPECT_LE(rounds.size(), 8u);  // two would do; greedy packing needs a few more
}

TEST(LoadPlan, BeginsWithPairsUnderOneSwitchWhereChannelsAreLoadedMoreThanOnce) {
  const Rig rig;
  const auto within = [&](const LoadRound& round) {
    return std::ranges::all_of(round,
                               [&](const PlannedFlow& flow) { return rig.channels(flow).size() == 2; });
  };
  const auto rounds = plan_load_rounds(rig.fabric, rig.learner, 2, 100, 1);
  EXPECT_TRUE(within(rounds.front()));
  EXPECT_EQ(rounds.front().size(), rig.fabric.nics().size());
  EXPECT_FALSE(within(plan_load_rounds(rig.fabric, rig.learner, 1, 100, 1).front()));
}

TEST(LoadPlan, LoadsEveryChannelBetweenSwitchesOnceHoweverFewRoundsThereMayBe) {
  const Rig rig;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const auto rounds = plan_load_rounds(rig.fabric, rig.learner, 2, 2, seed);
    std::set<ChannelId> loaded;
    for (const LoadRound& round : rounds)
      for (const PlannedFlow& flow : round)
        loaded.insert(rig.channels(flow).begin(), rig.channels(flow).end());
    for (std::uint32_t c = 0; c < rig.fabric.channel_count(); ++c) {
      if (!rig.fabric.between_switches(ChannelId(c))) continue;
      EXPECT_TRUE(loaded.contains(ChannelId(c))) << seed << " " << rig.fabric.name_of(ChannelId(c));
    }
    EXPECT_LE(rounds.size(), 4u);
  }
}

TEST(LoadPlan, WhatFewRoundsLeaveOutIsCounted) {
  const Fabric fabric =
      *make_pod_clos({.pods = 2, .leaves = 1, .spines = 1, .cores = 16, .hosts_per_leaf = 1});
  const AddressPlan addresses = *plan_addresses(fabric, IpFamily::v4);
  PathTable table;
  PathLearner learner{fabric, addresses.book, table};
  const PortId one = fabric.nics()[0], other = fabric.nics()[1];
  for (const auto& [src, dst] : {std::pair(one, other), std::pair(other, one)})
    for (std::uint32_t core = 0; core < 16; ++core)
      learner.learn(
          src, dst, PathLabel(50000 + core),
          answers_along(fabric, addresses.book, path_by_choice(fabric, learner.ways(), src, dst, core), 6));
  std::vector<ChannelId> all;
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) all.emplace_back(c);
  EXPECT_EQ(channels_left_out(learner, plan_load_rounds(fabric, learner, 2, 6, 1), all), 0u);
  const auto few = plan_load_rounds(fabric, learner, 2, 2, 1);
  ASSERT_EQ(few.size(), 6u) << "three times as many, as one flow each way fits into a round";
  EXPECT_EQ(channels_left_out(learner, few, all), (16u - 6u) * 4u);
}

TEST(LoadPlan, AFlowHasARightToTheRateOfItsSlowestLink) {
  const Rig rig;
  for (const auto& round : plan_load_rounds(rig.fabric, rig.learner, 1, 2, 1))
    for (const PlannedFlow& flow : round) EXPECT_EQ(flow.rate, Bandwidth::gbit(400));
}

TEST(LoadPlan, TheSameSeedGivesTheSameRounds) {
  const Rig rig;
  const auto one = plan_load_rounds(rig.fabric, rig.learner, 1, 10, 7);
  const auto other = plan_load_rounds(rig.fabric, rig.learner, 1, 10, 7);
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t r = 0; r < one.size(); ++r) {
    ASSERT_EQ(one[r].size(), other[r].size());
    for (std::size_t f = 0; f < one[r].size(); ++f) EXPECT_EQ(one[r][f].pair, other[r][f].pair);
  }
}

TEST(LoadPlan, WhatOnlyStalledFlowsCrossedIsNotLoaded) {
  const Rig rig;
  const auto rounds = plan_load_rounds(rig.fabric, rig.learner, 1, 100, 7);
  const PlannedFlow& stalled = rounds[0][0];
  std::vector<LoadObservation> seen;
  for (const LoadRound& round : rounds)
    for (const PlannedFlow& flow : round)
      seen.push_back({.path = flow.path, .sender_stalled = flow.pair == stalled.pair});
  const auto open = channels_not_loaded(rig.table, rounds, seen);
  EXPECT_EQ(std::ranges::count(open, rig.channels(stalled).front()), 1);
  for (const auto& load : seen) {
    if (load.sender_stalled) continue;
    for (const ChannelId channel : rig.table.channels(rig.table.paths(load.path)[0]))
      EXPECT_EQ(std::ranges::count(open, channel), 0);
  }
  for (const LoadRound& again : rounds_over(rig.table, rounds, open)) {
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(again[0].pair, stalled.pair);
  }
  EXPECT_EQ(channels_not_loaded(rig.table, rounds, {}).size(), rig.fabric.channel_count());
}

TEST(LoadPlan, PressesAChannelByOneFlowAndByTwoThatShareNothingElse) {
  const Rig rig;
  const auto channel = *rig.fabric.find_channel("leaf1->spine2");
  const auto rounds = PressPlanner(rig.fabric, rig.learner, {channel}, {})
                          .rounds(channel, {.alone = {0.4, 1.0}, .together = {1.0, 0.5}});
  ASSERT_EQ(rounds.size(), 4u);
  EXPECT_EQ(rounds[0].size(), 1u);
  ASSERT_EQ(rounds[2].size(), 2u);
  for (const PlannedFlow& flow : rounds[2])
    EXPECT_NE(std::ranges::find(rig.channels(flow), channel), rig.channels(flow).end());
  std::size_t shared = 0;
  for (const ChannelId c : rig.channels(rounds[2][0]))
    shared += std::ranges::count(rig.channels(rounds[2][1]), c);
  EXPECT_EQ(shared, 1u);
  EXPECT_EQ(rounds[0][0].rate, Bandwidth::gbit(160));
  EXPECT_EQ(rounds[1][0].rate, Bandwidth::gbit(400));
  EXPECT_EQ(rounds[3][1].rate, Bandwidth::gbit(200));
}

TEST(LoadPlan, PressesByPathsAroundOtherSuspects) {
  const Rig rig;
  const ChannelId channel = *rig.fabric.find_channel("leaf1->spine2");
  const std::set<ChannelId> suspects{channel, *rig.fabric.find_channel("spine2->leaf2"),
                                     *rig.fabric.find_channel("host1->leaf1")};
  const PressPlanner planner(rig.fabric, rig.learner, suspects, suspects);
  EXPECT_TRUE(planner.can_isolate(channel));
  for (const LoadRound& round : planner.rounds(channel, {.alone = {1.0, 1.0, 1.0}, .together = {1.0}}))
    for (const PlannedFlow& flow : round)
      for (const ChannelId c : rig.channels(flow)) EXPECT_TRUE(c == channel || !suspects.contains(c));
}

TEST(LoadPlan, RoundsThatShareNoChannelBecomeOne) {
  const Rig rig;
  const ChannelId one = *rig.fabric.find_channel("leaf1->spine2");
  const ChannelId other = *rig.fabric.find_channel("leaf3->spine4");
  const PressPlanner planner(rig.fabric, rig.learner, {one, other}, {});
  auto rounds = planner.rounds(one, {.alone = {1.0}, .together = {}});
  const auto more = planner.rounds(other, {.alone = {1.0}, .together = {}});
  rounds.insert(rounds.end(), more.begin(), more.end());
  rounds.push_back(rounds.front());
  const auto merged = merge_rounds(rig.table, rounds);
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].size() + merged[1].size(), 3u);
}

TEST(PingPlan, CrossesEveryChannelBothWaysByManyCombinations) {
  const Rig rig;
  const auto pings = plan_pings(rig.learner);
  EXPECT_EQ(pings.size(), 48u * 4u + 32u);  // and one way between neighbours on a leaf
  const auto crossed = crossings(rig.fabric, rig.table, pings);
  for (std::uint32_t c = 0; c < crossed.size(); ++c)
    EXPECT_GE(crossed[c], 24u) << rig.fabric.name_of(ChannelId(c));
  for (const PlannedPing& ping : pings) ASSERT_TRUE(ping.back);
}

TEST(PingPlan, AHypothesisIsProbedByPathsThatCrossNoneOfTheOtherSuspects) {
  const Rig rig;
  const auto pings = plan_pings(rig.learner);
  const auto suspect = *rig.fabric.find_channel("leaf1->spine2");
  const auto other = *rig.fabric.find_channel("spine2->leaf2");
  const auto chosen = pings_over(rig.table, pings, suspect, {suspect, other}, 4);
  ASSERT_EQ(chosen.size(), 4u);
  for (const PlannedPing& ping : chosen) {
    const auto there = rig.table.channels(rig.table.paths(ping.path)[0]);
    const auto back = rig.table.channels(rig.table.paths(*ping.back)[0]);
    EXPECT_EQ(std::ranges::count(there, other) + std::ranges::count(back, other), 0);
    EXPECT_EQ(std::ranges::count(there, suspect) + std::ranges::count(back, suspect), 1);
  }
}

}  // namespace
}  // namespace weft::plan
