// Delay, rate and congestion.
#include <gtest/gtest.h>

#include <algorithm>

#include "made_up_run.hpp"
#include "tests/support/draws.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

TEST(Delay, TwoMillisecondsOnOneChannelAreFoundThroughHeavyTails) {
  for (std::uint64_t seed = 1; seed <= draws(10u); ++seed) {
    MadeUpRun run(seed);
    run.fault("leaf1->spine4").delay_us = 2000;
    run.probe(400, 20, Bytes(128), true);
    const Diagnosis diagnosis = run.diagnosed();
    ASSERT_EQ(diagnosis.links.size(), 1u) << seed;
    EXPECT_EQ(diagnosis.links[0].channel, run.channel("leaf1->spine4"));
    EXPECT_EQ(diagnosis.links[0].cause, Cause::delay);
    EXPECT_NEAR(diagnosis.links[0].estimate->value, 0.002, 0.0003);
  }
}

TEST(Delay, OfAHostsCableIsNotBlamedOnTheLinkThatHalfOfItsProbesShare) {
  for (std::uint64_t seed = 1; seed <= draws(20u); ++seed) {
    MadeUpRun run(seed, {.leaves = 4, .spines = 2, .hosts_per_leaf = 2});
    run.fault("leaf4->host8").delay_us = 200'000;
    run.probe(100, 20, Bytes(128), true);
    const Diagnosis diagnosis = run.diagnosed();
    EXPECT_TRUE(diagnosis.links.empty()) << seed;
    ASSERT_EQ(diagnosis.hosts.size(), 1u) << seed;
    EXPECT_EQ(run.fabric.node(diagnosis.hosts[0].host).name, "host8");
  }
}

TEST(Delay, NoneIsFoundWhereTheTailsAreTheSameEverywhere) {
  for (std::uint64_t seed = 1; seed <= draws(20u); ++seed) {
    MadeUpRun run(seed);
    run.probe(400, 20, Bytes(128), true);
    EXPECT_TRUE(run.diagnosed().links.empty()) << seed;
  }
}

/// Every leaf sends to the next by each spine, as the load stage does: each channel carries one flow.
std::vector<std::vector<ChannelId>> one_flow_a_channel(const MadeUpRun& run, std::uint32_t turn) {
  std::vector<std::vector<ChannelId>> paths;
  for (std::uint32_t leaf = 0; leaf < 4; ++leaf)
    for (std::uint32_t spine = 0; spine < 4; ++spine)
      paths.push_back(
          run.path(leaf * 4 + (spine + turn) % 4, (leaf + 1 + turn % 3) % 4 * 4 + (spine + turn) % 4, spine));
  return paths;
}

void press(MadeUpRun& run, std::uint32_t round) {
  run.load(round, {run.path(0, 4, 1), run.path(1, 9, 1)}, 0.95);  // two flows over leaf1->spine2
}

TEST(Load, AHealthyFabricHasNoFinding) {
  MadeUpRun run(1);
  for (std::uint32_t round = 0; round < 4; ++round) run.load(round, one_flow_a_channel(run, round), 0.95);
  press(run, 4);
  EXPECT_TRUE(run.diagnosed().links.empty());
  EXPECT_TRUE(run.diagnosed().hosts.empty());
}

TEST(Load, AChannelHeldToAQuarterIsARateFaultHoweverHardItIsPressed) {
  MadeUpRun run(2);
  run.fault("leaf1->spine2").rate = 0.25;
  for (std::uint32_t round = 0; round < 4; ++round) run.load(round, one_flow_a_channel(run, round), 0.95);
  press(run, 4);
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.links.size(), 1u);
  EXPECT_EQ(diagnosis.links[0].channel, run.channel("leaf1->spine2"));
  EXPECT_EQ(diagnosis.links[0].cause, Cause::rate);
  EXPECT_NEAR(diagnosis.links[0].estimate->value, 0.25, 0.02);
}

TEST(Load, AFaultIsNotLostInTheRoundsThatPressIt) {
  MadeUpRun run(2);
  run.fault("leaf1->spine2").rate = 0.25;
  for (std::uint32_t round = 0; round < 4; ++round) run.load(round, one_flow_a_channel(run, round), 0.95);
  for (std::uint32_t round = 4; round < 124; ++round) press(run, round);  // most flows now cross the fault
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.links.size(), 1u);
  EXPECT_EQ(diagnosis.links[0].channel, run.channel("leaf1->spine2"));
  EXPECT_EQ(diagnosis.links[0].cause, Cause::rate);
}

TEST(Load, OtherTrafficOnAChannelIsCongestion) {
  for (const double traffic : {0.5, 1.0, 2.0}) {
    MadeUpRun run(3);
    run.fault("leaf1->spine2").traffic = traffic;
    for (std::uint32_t round = 0; round < 4; ++round) run.load(round, one_flow_a_channel(run, round), 0.95);
    for (std::uint32_t round = 4; round < 7; ++round) press(run, round);
    const Diagnosis diagnosis = run.diagnosed();
    ASSERT_EQ(diagnosis.links.size(), 1u) << traffic;
    EXPECT_EQ(diagnosis.links[0].channel, run.channel("leaf1->spine2"));
    EXPECT_EQ(diagnosis.links[0].cause, Cause::congestion);
    EXPECT_EQ(diagnosis.verdict, Verdict::congested);
  }
}

TEST(Load, WithOneLoadLevelTheCauseIsAHypothesisThatLoadRoundsSettle) {
  MadeUpRun run(4);
  run.fault("leaf1->spine2").rate = 0.5;
  for (std::uint32_t round = 0; round < 4; ++round) run.load(round, one_flow_a_channel(run, round), 0.95);
  const Assessment assessment = assess(run.fabric, run.seen);
  ASSERT_EQ(assessment.hypotheses.size(), 1u);
  EXPECT_EQ(assessment.hypotheses[0].channels, std::vector{run.channel("leaf1->spine2")});
  EXPECT_EQ(assessment.hypotheses[0].packets, 0u);
  EXPECT_NEAR(assessment.hypotheses[0].passes, 0.5, 0.02);
  ASSERT_EQ(assessment.diagnosis.links.size(), 1u);
  EXPECT_EQ(assessment.diagnosis.links[0].verdict, Verdict::unknown);
}

/// A lab shapes its links to a tenth of the file's, and a light load fills a quarter of that: as `diagnose`
/// reads it with the fabric file.
TEST(Load, OfSlowerLinksThanInTheFileShowsWhatItsShareOfTheirLineRateShows) {
  MadeUpRun run(5);
  run.fault("leaf1->spine2").rate = 0.06;
  for (std::uint32_t round = 0; round < 4; ++round) run.load(round, one_flow_a_channel(run, round), 0.025);
  for (LoadObservation& load : run.seen.loads)
    load.line_rate = run.fabric.rate(run.channel("host1->leaf1")) * 0.1;
  const Diagnosis diagnosis = run.diagnosed();
  EXPECT_TRUE(diagnosis.links.empty());
  ASSERT_TRUE(diagnosis.sensitivity.rate);
  EXPECT_NEAR(*diagnosis.sensitivity.rate, 0.76, 0.03);
}

TEST(Load, AStalledSenderIsNoEvidence) {
  MadeUpRun run(5);
  for (std::uint32_t round = 0; round < 4; ++round) run.load(round, one_flow_a_channel(run, round), 0.95);
  for (LoadObservation& load : run.seen.loads)
    if (load.path == run.seen.loads[3].path) {
      load.delivered = load.delivered * 0.3;
      load.sender_stalled = true;
    }
  EXPECT_TRUE(run.diagnosed().links.empty());
  EXPECT_TRUE(run.diagnosed().hosts.empty());
}

TEST(Load, QueueSeenByIdleProbesIsPartOfTheCongestion) {
  MadeUpRun run(6);
  run.fault("leaf1->spine2").traffic = 1.0;
  run.fault("leaf1->spine2").delay_us = 6000;
  run.probe(400, 20, Bytes(128), true);
  for (std::uint32_t round = 0; round < 4; ++round) run.load(round, one_flow_a_channel(run, round), 0.95);
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.links.size(), 1u);
  EXPECT_EQ(diagnosis.links[0].cause, Cause::congestion);
}

TEST(Load, OfADelayedChannelThatDipsOnceIsNoCongestion) {
  MadeUpRun run(7);
  run.fault("leaf1->spine2").delay_us = 2000;
  run.probe(400, 20, Bytes(128), true);
  for (std::uint32_t round = 0; round < 4; ++round) run.load(round, one_flow_a_channel(run, round), 0.95);
  const ChannelId delayed = run.channel("leaf1->spine2");
  for (LoadObservation& load : run.seen.loads) {
    const auto channels = run.seen.paths.channels(run.seen.paths.paths(load.path)[0]);
    if (load.round == 2 && std::ranges::count(channels, delayed) > 0) load.delivered = load.delivered * 0.94;
  }
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.links.size(), 1u);
  EXPECT_EQ(diagnosis.links[0].channel, delayed);
  EXPECT_EQ(diagnosis.links[0].cause, Cause::delay);
}

}  // namespace
}  // namespace weft::diagnosis
