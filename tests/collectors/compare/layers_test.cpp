// One cause put in at a time: the largest share goes to its layer.
#include "collectors/compare/layers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/compared_site.hpp"

namespace weft::compare {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

ComparedSites compared(const ComparedSite& a, const ComparedSite& b) {
  SplitMix64 random(1);
  return compare_sites(a, b, random);
}

void expect_layer(const ComparedSites& made, std::string_view word, Layer layer) {
  const Reasons* reasons = made.find(word);
  ASSERT_NE(reasons, nullptr) << "no proven difference in " << word;
  EXPECT_EQ(to_string(reasons->layers.front().layer), to_string(layer));
  EXPECT_NEAR(reasons->layers.front().share, 1, 0.15);
  ASSERT_TRUE(reasons->layers.front().interval);
  EXPECT_GT(reasons->layers.front().interval->first, 0.5);
  EXPECT_NEAR(reasons->unexplained, 0, 0.15);
}

TEST(Layers, ASlowCableTakesTheShareAndIsNamed) {
  const auto made = compared({}, {.slow = "leaf0->spine1", .left = 0.5});
  expect_layer(made, "slowest flow", Layer::cables);
  expect_layer(made, "flow over 4 hops", Layer::cables);
  EXPECT_THAT(made.find("slowest flow")->layers.front().places,
              ElementsAre(AllOf(HasSubstr("B: leaf0->spine1"), HasSubstr("rate"))));
}

TEST(Layers, ItIsTheSameWhicheverSideIsWorse) {
  expect_layer(compared({.slow = "leaf0->spine1", .left = 0.5}, {}), "slowest flow", Layer::cables);
}

TEST(Layers, FlowsThatMeetOnOneSpineAreCollisions) {
  expect_layer(compared({}, {.collides = 5}), "flow over 4 hops", Layer::collisions);
}

TEST(Layers, AHostThatHoldsItsFlowsBackIsOfTheHosts) {
  expect_layer(compared({}, {.left = 0.4, .held = "host3"}), "flow over 4 hops", Layer::hosts);
}

TEST(Layers, ASlowCableIsNoFaultOfSendersThatAreHeldBackAsWell) {
  SplitMix64 random(3);
  auto made = compare_sites({}, {.slow = "leaf0->spine1", .left = 0.5}, random);
  // On a busy machine each sender puts a tenth less on the wire, on both sides.
  std::vector<compare::Run> a, b;
  for (auto* side : {&made.a, &made.b})
    for (MeasuredRun& run : *side) {
      for (MeasuredFlow& flow : run.flows) flow.sender_stalled = true, flow.offered = 0.9 * flow.wanted;
      (side == &made.a ? a : b).push_back(run_of(run));
    }
  made.reasons = reasons_of(made.a, made.b, *compare(a, b, {.design = Design::blocks}));
  const Reasons* reasons = made.find("slowest flow");
  ASSERT_NE(reasons, nullptr);
  EXPECT_EQ(reasons->layers.front().layer, Layer::cables);
  EXPECT_GT(reasons->layers.front().share, 0.7);
}

TEST(Layers, RoundTripsTellHostsFromHopsByDistance) {
  expect_layer(compared({}, {.of_hosts = 2e-6}), "4 hops", Layer::hosts);
  expect_layer(compared({}, {.delay = 2e-6}), "4 hops", Layer::hops);
}

TEST(Layers, EachCauseAloneTakesTheLargestShare) {
  SplitMix64 random(2);
  for (const OneCause& cause : one_cause_each()) {
    const auto made = compare_sites({}, cause.site, random);
    const Reasons* reasons = made.find(cause.cell);
    ASSERT_NE(reasons, nullptr) << to_string(cause.layer);
    EXPECT_EQ(to_string(reasons->layers.front().layer), to_string(cause.layer));
  }
}

TEST(Layers, SidesThatAskForDifferentRatesBlameNoLayer) {
  SplitMix64 random(4);
  auto made = compare_sites({}, {}, random);
  std::vector<compare::Run> a, b;
  for (MeasuredRun& run : made.a) a.push_back(run_of(run));
  for (MeasuredRun& run : made.b) {  // as with load=light against load=full
    for (MeasuredFlow& flow : run.flows) flow.wanted *= 0.25, flow.delivered *= 0.25;
    b.push_back(run_of(run));
  }
  made.reasons = reasons_of(made.a, made.b, *compare(a, b, {.design = Design::blocks}));
  for (const char* word : {"slowest flow", "flow over 4 hops"}) {
    const Reasons* reasons = made.find(word);
    ASSERT_NE(reasons, nullptr) << word;
    EXPECT_TRUE(reasons->layers.empty());
    ASSERT_TRUE(reasons->asked);
    EXPECT_NEAR(reasons->asked->second / reasons->asked->first, 0.25, 1e-6);
  }
}

TEST(Layers, NothingIsExplainedWhereNothingDiffers) { EXPECT_TRUE(compared({}, {}).reasons.empty()); }

TEST(Layers, WhatFewRunsNameIsNotNamed) {
  SplitMix64 random(1);
  std::vector<MeasuredRun> runs;
  for (int i = 0; i < 6; ++i)
    runs.push_back((i < 2 ? ComparedSite{.slow = "leaf0->spine1", .left = 0.5} : ComparedSite{}).run(random));
  EXPECT_TRUE(named_places(runs).empty());
  runs.resize(4);
  ASSERT_EQ(named_places(runs).size(), 1U);
  EXPECT_EQ(named_places(runs).front().runs, 2U);
}

TEST(Layers, RunsWithoutFlowsOrPathsAreNoTrouble) {
  const std::vector<MeasuredRun> none(6);
  Comparison comparison{.settings = {.design = Design::blocks}};
  comparison.cells.push_back({.cell = {{"all-pairs", "slowest flow"}, Bytes(4096), Metric::bandwidth},
                              .test = CellResult::Test{.p = 0}});
  EXPECT_TRUE(reasons_of(none, none, comparison).empty());
  EXPECT_TRUE(reasons_of({}, {}, comparison).empty());
}

}  // namespace
}  // namespace weft::compare
