// One cause put in at a time: the largest share goes to its layer.
#include "collectors/compare/layers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

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

TEST(Layers, AQueueAtOneChannelIsOfTheQueuesAndIsNamed) {
  const auto made = compared({}, {.queued = "leaf0->spine1", .queue = 30e-6});
  EXPECT_EQ(made.find("round trip, 4 hops"), nullptr) << "idle round trips are the same";
  expect_layer(made, "round trip under load, 4 hops", Layer::queueing);
  EXPECT_THAT(made.find("round trip under load, 4 hops")->layers.front().places,
              ElementsAre(AllOf(HasSubstr("B: leaf0->spine1"), HasSubstr("30 us in queues"))));
}

TEST(Layers, AQueueAThousandTimesAsLongAsAllElseIsOfTheQueuesToo) {
  for (const bool a_waits : {false, true}) {
    const ComparedSite full{.queued = "leaf0->spine1", .queue = 20e-3}, empty{};
    expect_layer(compared(a_waits ? full : empty, a_waits ? empty : full), "round trip under load, 4 hops",
                 Layer::queueing);
  }
}

TEST(Layers, WhatIdleRoundTripsTakeMoreIsNoQueue) {
  for (const ComparedSite& site : {ComparedSite{.of_hosts = 4e-6}, ComparedSite{.delay = 2e-6}}) {
    const auto made = compared({}, site);
    expect_layer(made, "round trip under load, 4 hops", site.delay > 0 ? Layer::hops : Layer::hosts);
  }
}

TEST(Layers, AQueueAndSlowHostsHaveTheirSharesOfARoundTripUnderLoad) {
  const auto made = compared({}, {.of_hosts = 4e-6, .queued = "leaf0->spine1", .queue = 24e-6});
  const Reasons* reasons = made.find("round trip under load, 4 hops");
  ASSERT_NE(reasons, nullptr);
  std::map<Layer, double> shares;
  for (const LayerShare& share : reasons->layers) shares[share.layer] = share.share;
  EXPECT_NEAR(shares[Layer::hosts], shares[Layer::queueing], 0.1) << "4 us each, in the mean of its cell";
  EXPECT_NEAR(shares[Layer::hops], 0, 0.1);
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
  const auto made = compared({}, {.load = "light"});
  for (const char* word : {"slowest flow", "flow over 4 hops"}) {
    const Reasons* reasons = made.find(word);
    ASSERT_NE(reasons, nullptr) << word;
    EXPECT_TRUE(reasons->layers.empty());
    ASSERT_TRUE(reasons->asked);
    EXPECT_NEAR(reasons->asked->second / reasons->asked->first, 0.25 / 0.95, 1e-6);
  }
}

TEST(Layers, FlowsThatWantLessForTheirPathsAreSharedAreCollisionsWithNoLessAsked) {
  const auto made = compared({}, {.collides = 2});
  const Cell far{{"all-pairs", "flow over 4 hops"}, kFlowPayload, Metric::bandwidth};
  const auto wanted = [&](const MeasuredRun& run) { return flow_cells(run, wanted_of(run)).at(far); };
  ASSERT_LT(wanted(made.b.front()) / wanted(made.a.front()), 0.95) << "the plan takes the paths into account";
  expect_layer(made, "flow over 4 hops", Layer::collisions);
  EXPECT_FALSE(made.find("flow over 4 hops")->asked);
}

TEST(Layers, ASlowerLineRateIsNoCollision) {
  for (const bool a_is_slow : {false, true}) {
    const ComparedSite slow{.rate = 25e6}, fast{};
    const auto made = compared(a_is_slow ? slow : fast, a_is_slow ? fast : slow);
    expect_layer(made, "slowest flow", Layer::line_rate);
    EXPECT_FALSE(made.find("slowest flow")->asked);
    for (const LayerShare& share : made.find("slowest flow")->layers)
      EXPECT_NEAR(share.share, share.layer == Layer::line_rate ? 1 : 0, 0.1) << to_string(share.layer);
  }
}

TEST(Layers, FewerOrSlowerCablesBetweenSwitchesAreNoCollisionsOfFlows) {
  for (const ComparedSite& site : {ComparedSite{.spines = 1}, ComparedSite{.uplink = 0.5}}) {
    const auto made = compared({}, site);
    expect_layer(made, "flow over 4 hops", Layer::oversubscription);
    for (const LayerShare& share : made.find("flow over 4 hops")->layers)
      if (share.layer != Layer::oversubscription) {
        EXPECT_NEAR(share.share, 0, 0.1) << to_string(share.layer);
      }
    EXPECT_THAT(
        made.find("flow over 4 hops")->layers.front().places,
        testing::Contains(AllOf(HasSubstr("B: leaf0: 2 x 50 Mbit/s to hosts"),
                                HasSubstr(site.spines == 1 ? "1 x 50 Mbit/s up" : "2 x 25 Mbit/s up"))));
  }
}

TEST(Layers, FewerCablesAndCollisionsBesideHaveTheirShares) {
  const auto made = compared({}, {.collides = 5, .uplink = 0.8});
  const Reasons* reasons = made.find("flow over 4 hops");
  ASSERT_NE(reasons, nullptr);
  EXPECT_EQ(reasons->layers[0].layer, Layer::collisions);
  EXPECT_EQ(reasons->layers[1].layer, Layer::oversubscription);
  EXPECT_NEAR(reasons->layers[1].share, std::log(1.25) / std::log(2.5), 0.1);
}

TEST(Layers, OfAFabricThatIsNotKnownPathsAndCablesAreOneLayer) {
  const auto made = compared({.is_known = false}, {.spines = 1, .is_known = false});
  expect_layer(made, "flow over 4 hops", Layer::collisions);
}

TEST(Layers, ASlowCableIsMeasuredAgainstWhatItIsBuiltFor) {
  const auto made = compared({.uplink = 0.5}, {.slow = "leaf0->spine1", .left = 0.5, .uplink = 0.5});
  expect_layer(made, "slowest flow", Layer::cables);
}

TEST(Layers, BothASlowerLineRateAndCollisionsHaveTheirShares) {
  const auto made = compared({}, {.collides = 5, .rate = 40e6});
  const Reasons* reasons = made.find("flow over 4 hops");
  ASSERT_NE(reasons, nullptr);
  EXPECT_EQ(reasons->layers[0].layer, Layer::collisions);
  EXPECT_EQ(reasons->layers[1].layer, Layer::line_rate);
  EXPECT_NEAR(reasons->layers[0].share, std::log(2) / std::log(2.5), 0.1);
  EXPECT_NEAR(reasons->layers[1].share, std::log(1.25) / std::log(2.5), 0.1);
}

TEST(Layers, PausesHaveTheShareOfTheTimeThatACableStood) {
  for (const bool stops_its_switch : {false, true}) {
    const auto made = compared({}, {.paused = "host3", .stands = 0.6, .stops_its_switch = stops_its_switch});
    expect_layer(made, "flow over 4 hops", Layer::pauses);
    EXPECT_THAT(made.find("flow over 4 hops")->layers.front().places,
                ElementsAre(AllOf(HasSubstr("B: host3"), HasSubstr("60 % of the load"),
                                  HasSubstr(stops_its_switch ? "it stopped its switch" : "stopped it"))));
  }
}

TEST(Layers, PausesThatHandOnASlowCableLeaveItTheShare) {
  const auto made = compared({}, {.slow = "leaf0->spine1", .left = 0.4, .paused = "host1", .stands = 0.6});
  expect_layer(made, "flow over 4 hops", Layer::cables);
  for (const LayerShare& share : made.find("flow over 4 hops")->layers)
    if (share.layer == Layer::pauses) {
      EXPECT_NEAR(share.share, 0, 0.1);
    }
}

TEST(Layers, PausesOfWhichOneSideTellsNoTimeHaveNoShare) {
  SplitMix64 random(5);
  auto made = compare_sites({}, {.paused = "host3", .stands = 0.6}, random);
  std::vector<compare::Run> a, b;
  for (MeasuredRun& run : made.a) run.timed_nics = 0, a.push_back(run_of(run));
  for (const MeasuredRun& run : made.b) b.push_back(run_of(run));
  made.reasons = reasons_of(made.a, made.b, *compare(a, b, {.design = Design::blocks}));
  const Reasons* reasons = made.find("flow over 4 hops");
  ASSERT_NE(reasons, nullptr);
  for (const LayerShare& share : reasons->layers) EXPECT_NE(share.layer, Layer::pauses);
}

TEST(Layers, PausesBelowWhatIsWantedTakeNothing) {
  const auto made = compared({.paused = "host3", .stands = 0.03}, {.slow = "leaf0->spine1", .left = 0.5});
  expect_layer(made, "flow over 4 hops", Layer::cables);
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

TEST(Layers, AChannelIsNamedByHalfOfTheRunsAsItsPlaceIs) {
  std::vector<MeasuredRun> runs(4,
                                {.name = "run", .pattern = "", .channels = {"a->b", "b->a"}, .culprits = {}});
  for (std::size_t i = 0; i < runs.size(); ++i)
    runs[i].culprits = {{.place = "a--b", .cause = Cause::loss, .channels = {i < 3 ? 0U : 1U}}};
  const auto places = named_places(runs);
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(places[0].channels, std::vector<std::string>{"a->b"});
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
