#include "collectors/compare/measured_fabric.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/compared_site.hpp"

namespace weft::compare {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

MeasuredFabric told(const ComparedSite& site, int runs = 2) {
  SplitMix64 random(1);
  std::vector<MeasuredRun> all;
  for (int i = 0; i < runs; ++i) all.push_back(site.run(random));
  return measured_fabric("site", all);
}

double load_of(const MeasuredFabric& fabric, const std::string& channel) {
  const auto at = std::ranges::find(fabric.loads, channel, &ChannelLoad::channel);
  return at == fabric.loads.end() ? 0 : at->load;
}

TEST(MeasuredFabric, HasAllChannelsThatPacketsCrossedOnce) {
  const auto fabric = told({});
  EXPECT_EQ(fabric.fabric, "site");
  EXPECT_THAT(fabric.crossed, SizeIs(2 * (6 + 3 * 2)));
  EXPECT_THAT(fabric.crossed, Contains("leaf0->spine1"));
}

TEST(MeasuredFabric, WhereEveryFlowHasAChannelOfItsOwnNothingIsOverloaded) {
  EXPECT_THAT(told({}).loads, IsEmpty());
}

TEST(MeasuredFabric, FlowsThatMeetInEveryRoundOverloadTheirChannel) {
  const auto fabric = told({.collides = 5});
  EXPECT_GT(load_of(fabric, "leaf0->spine0"), 1.3);
  EXPECT_EQ(load_of(fabric, "leaf0->spine1"), 0);
  EXPECT_EQ(load_of(fabric, "host0->leaf0"), 0);
  EXPECT_GE(fabric.loads.front().load, fabric.loads.back().load);
}

TEST(MeasuredFabric, ChannelsThatAreBuiltForLessAreOverloadedByTheirRate) {
  EXPECT_GT(load_of(told({.uplink = 0.5}), "leaf0->spine0"), 1.3);
}

TEST(MeasuredFabric, ALightLoadOverloadsNothing) {
  EXPECT_THAT(told({.collides = 5, .load = "light"}).loads, IsEmpty());
}

TEST(MeasuredFabric, HasTheLongestQueues) {
  const auto fabric = told({.queued = "leaf0->spine1", .queue = 8e-6});
  ASSERT_THAT(fabric.queues, SizeIs(1));
  EXPECT_EQ(fabric.queues.front().place, "leaf0->spine1");
  EXPECT_DOUBLE_EQ(fabric.queues.front().wait, 8e-6);
}

/// Runs of two hosts under one leaf.
std::vector<MeasuredRun> small_runs(std::size_t count) {
  return std::vector<MeasuredRun>(
      count, {.name = "run",
              .pattern = "all-pairs",
              .channels = {"h1->l", "l->h2"},
              .flows = {{.src = "h1", .dst = "h2", .path = {0, 1}, .wanted = 1e9, .delivered = 1e9}},
              .trips = {},
              .culprits = {}});
}

TEST(MeasuredFabric, WhatNothingArrivedOverIsUnknownAndNotCrossed) {
  auto runs = small_runs(2);
  for (MeasuredRun& run : runs) run.flows[0].delivered = 0;
  auto fabric = measured_fabric("site", runs);
  EXPECT_THAT(fabric.crossed, IsEmpty());
  EXPECT_THAT(fabric.unknown, ElementsAre("h1->l", "l->h2"));
  for (MeasuredRun& run : runs) {
    run.flows.clear();
    run.probed = {{.path = {0}, .sent = 100, .lost = 100}, {.path = {1}, .sent = 100, .lost = 99}};
  }
  fabric = measured_fabric("site", runs);
  EXPECT_THAT(fabric.crossed, ElementsAre("l->h2"));
  EXPECT_THAT(fabric.unknown, ElementsAre("h1->l"));
}

TEST(MeasuredFabric, WhatFewRunsNameIsUnknownAndWhatHalfOfThemNameIsNamed) {
  auto runs = small_runs(4);
  const Culprit culprit{.place = "h1--l", .cause = Cause::loss, .channels = {0}};
  runs[0].culprits = {culprit};
  EXPECT_THAT(measured_fabric("site", runs).unknown, ElementsAre("h1->l"));
  runs[1].culprits = {culprit};
  EXPECT_THAT(measured_fabric("site", runs).unknown, IsEmpty());
}

TEST(MeasuredFabric, WhatHalfOfTheRunsKnowLittleOfIsUnknown) {
  auto runs = small_runs(4);
  runs[0].thin = {0}, runs[1].missing = {1};
  EXPECT_THAT(measured_fabric("site", runs).unknown, IsEmpty());
  runs[2].thin = {0}, runs[3].missing = {1};
  EXPECT_THAT(measured_fabric("site", runs).unknown, ElementsAre("h1->l", "l->h2"));
}

TEST(MeasuredFabric, OfNoRunsTellsNothing) {
  const auto fabric = told({}, 0);
  EXPECT_THAT(fabric.crossed, IsEmpty());
  EXPECT_THAT(fabric.loads, IsEmpty());
}

}  // namespace
}  // namespace weft::compare
