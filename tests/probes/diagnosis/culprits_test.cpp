// Which channels held flows back, and where a flow that nothing explains is accounted for.
#include "probes/diagnosis/load/culprits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "made_up_run.hpp"

namespace weft::diagnosis {
namespace {

using ::testing::ElementsAre;

constexpr double kFault = 4.0;
constexpr ChannelId kA{0}, kB{1}, kC{2};

TEST(Culprits, OneThatExplainsAllIsLikelierThanTwoThatDoSoTogether) {
  const std::vector<HeldBack> held{{{kA, kB}, 5}, {{kA, kC}, 5}};
  const auto all = explanations(held, kFault);
  EXPECT_THAT(all.front().culprits, ElementsAre(kA));
  EXPECT_GT(all.front().probability, 0.95);
}

TEST(Culprits, TwoThatNoFlowTellsApartAreAsLikely) {
  const std::vector<HeldBack> held{{{kA, kB}, 50}};
  const auto all = explanations(held, kFault);
  ASSERT_GE(all.size(), 2u);
  EXPECT_NEAR(all[0].probability, all[1].probability, 1e-9);
  EXPECT_NEAR(all[0].probability, 0.5, 0.02);
}

TEST(Culprits, ASingleDipIsNoFault) {
  const auto all = explanations(std::vector<HeldBack>{{{kA}, 2.5}}, kFault);
  EXPECT_TRUE(all.front().culprits.empty());
}

TEST(Culprits, FlowsThatShareNoCandidateAreQuestionsOfTheirOwn) {
  const std::vector<HeldBack> held{{{kA}, 5}, {{kB, kC}, 5}, {{kC}, 5}};
  EXPECT_THAT(questions(held), ::testing::UnorderedElementsAre(ElementsAre(0), ElementsAre(1, 2)));
}

TEST(Culprits, ChoicesThatSayNothingOfEachOtherAreQuestionsOfTheirOwn) {
  const ChannelId d{3};
  const std::vector<HeldBack> held{{{kA, kB}, 50}, {{kC, d}, 50}, {{kA, kB, kC, d}, 50}};
  const auto parts = independent_parts(explanations(held, kFault));
  ASSERT_EQ(parts.size(), 2u);
  for (const auto& part : parts) EXPECT_NEAR(part[0].probability, 0.5, 0.02);
  EXPECT_THAT(parts[0][0].culprits.size() + parts[1][1].culprits.size(), 2u);
}

TEST(Culprits, ChoicesThatDependOnEachOtherStayOneQuestion) {
  // B needs C, A needs the fourth.
  const ChannelId d{3};
  const std::vector<HeldBack> held{{{kA, kB}, 50}, {{kC, d}, 50}, {{kA, kC}, 50}, {{kB, d}, 50}};
  const auto parts = independent_parts(explanations(held, kFault));
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0][0].culprits.size(), 2u);
}

/// Every leaf sends to the next by each spine, each channel carries one flow.
void load_all(MadeUpRun& run, std::uint32_t round) {
  std::vector<std::vector<ChannelId>> paths;
  for (std::uint32_t leaf = 0; leaf < 4; ++leaf)
    for (std::uint32_t spine = 0; spine < 4; ++spine)
      paths.push_back(run.path(leaf * 4 + (spine + round) % 4,
                               (leaf + 1 + round % 3) % 4 * 4 + (spine + round) % 4, spine));
  run.load(round, paths, 0.95);
}

TEST(LoadElimination, FlowsThatShareASlowChannelTellItFromTheirOwnWays) {
  MadeUpRun run(5);
  run.fault("leaf1->spine1").rate = 0.2;
  run.fault("spine1->leaf3").rate = 0.35;
  const auto first = run.path(0, 8, 0);
  const auto second = run.path(4, 9, 0);
  // Alone the second flow meets its own leaf's uplink and the slow channel; the first is slower by itself.
  for (std::uint32_t round = 0; round < 3; ++round) run.load(round, {first}, 0.95);
  for (std::uint32_t round = 3; round < 6; ++round) run.load(round, {second}, 0.95);
  for (std::uint32_t round = 6; round < 9; ++round) run.load(round, {run.path(4, 9, 1)}, 0.95);
  const auto suspects = [&] {
    std::set<ChannelId> all;
    for (const OpenSet& set : run.diagnosed().sets)
      for (const auto& alternative : set.alternatives) all.insert(alternative.begin(), alternative.end());
    return all;
  };
  EXPECT_TRUE(suspects().contains(run.channel("leaf2->spine1")));
  for (std::uint32_t round = 9; round < 12; ++round) run.load(round, {first, second}, 0.95);
  EXPECT_FALSE(suspects().contains(run.channel("leaf2->spine1")));
}

TEST(LoadAccount, AFlowWhoseEveryChannelIsFineIsUnexplainedAndAskedForAgain) {
  MadeUpRun run(1);
  for (std::uint32_t round = 0; round < 4; ++round) load_all(run, round);
  run.seen.loads[5].delivered = run.seen.loads[5].delivered * 0.5;
  const Assessment assessment = assess(run.fabric, run.seen);
  EXPECT_TRUE(assessment.diagnosis.links.empty());
  EXPECT_EQ(assessment.diagnosis.account.slow, (AccountLine{.all = 1, .unexplained = 1}));
  ASSERT_EQ(assessment.hypotheses.size(), 1u);
  EXPECT_THAT(assessment.hypotheses[0].again, ElementsAre(run.seen.loads[5].path));
  for (std::uint32_t round = 0; round < 2; ++round) {
    auto again = run.seen.loads[5];
    again.round = 10 + round;
    again.delivered = again.offered;
    run.seen.loads.push_back(again);
  }
  EXPECT_EQ(run.diagnosed().account.slow, (AccountLine{.all = 1, .tolerated = 1}));
}

TEST(LoadAccount, ARoundInWhichAllGoesBadlyIsNotPassedOver) {
  MadeUpRun run(2);
  for (std::uint32_t round = 0; round < 4; ++round) load_all(run, round);
  for (LoadObservation& load : run.seen.loads)
    if (load.round == 1) load.delivered = load.delivered * 0.3;
  const Diagnosis diagnosis = run.diagnosed();
  EXPECT_EQ(diagnosis.account.slow.all, 16u);
  EXPECT_EQ(diagnosis.account.slow.unexplained, 16u);
}

TEST(LoadAccount, AStalledSenderExcusesItsFlow) {
  MadeUpRun run(3);
  for (std::uint32_t round = 0; round < 4; ++round) load_all(run, round);
  run.seen.loads[5].delivered = run.seen.loads[5].delivered * 0.5;
  run.seen.loads[5].sender_stalled = true;
  EXPECT_EQ(run.diagnosed().account.slow, (AccountLine{.all = 1, .excused = 1}));
}

TEST(LoadAccount, ARunStatesTheSmallestDeficitItWouldHaveShown) {
  MadeUpRun run(4);
  EXPECT_FALSE(run.diagnosed().sensitivity.rate);
  for (std::uint32_t round = 0; round < 4; ++round) load_all(run, round);
  ASSERT_TRUE(run.diagnosed().sensitivity.rate);
  // Of 95 % that a plan offers, nine tenths: a flow that gets more asks no question.
  EXPECT_NEAR(*run.diagnosed().sensitivity.rate, 0.155, 0.02);
}

}  // namespace
}  // namespace weft::diagnosis
