#include "collectors/compare/measured_fabric.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/compared_site.hpp"

namespace weft::compare {
namespace {

using testing::Contains;
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

TEST(MeasuredFabric, OfNoRunsTellsNothing) {
  const auto fabric = told({}, 0);
  EXPECT_THAT(fabric.crossed, IsEmpty());
  EXPECT_THAT(fabric.loads, IsEmpty());
}

}  // namespace
}  // namespace weft::compare
