#include "probes/engine/verbs/flow_progress.hpp"

#include <gtest/gtest.h>

namespace weft::verbs {
namespace {

using std::chrono::microseconds;

/// A message every 10 us, four under way.
FlowProgress flow(std::optional<std::uint64_t> volume = std::nullopt) {
  FlowProgress made(microseconds(10), 4, volume);
  made.start(microseconds(0), false);
  return made;
}

TEST(FlowProgress, PostsAtItsPaceAndNeverMoreThanMayBeUnderWay) {
  auto paced = flow();
  EXPECT_EQ(paced.post_due(microseconds(0)).count, 1u);
  EXPECT_EQ(paced.post_due(microseconds(5)).count, 0u);
  EXPECT_EQ(paced.post_due(microseconds(20)).count, 2u);
  EXPECT_EQ(paced.post_due(microseconds(60)).count, 1u) << "four are under way";
  EXPECT_TRUE(paced.is_held_back());
  EXPECT_EQ(paced.due(), 7u) << "what the pace allowed is what it offers";
  paced.completed(0, 0, microseconds(61));
  const auto next = paced.post_due(microseconds(61));
  EXPECT_EQ(next.first, 4u);
  EXPECT_EQ(next.count, 1u);
}

TEST(FlowProgress, AsksForTheLastOfABunchAndForEveryHalfDepthAndOneAnswersForAllBeforeIt) {
  auto held = flow();
  const auto first = held.post_due(microseconds(1000));
  ASSERT_EQ(first.count, 4u);
  EXPECT_FALSE(held.asks(first, 0));
  EXPECT_TRUE(held.asks(first, 1));
  EXPECT_FALSE(held.asks(first, 2));
  EXPECT_TRUE(held.asks(first, 3));
  held.completed(1, 0, microseconds(1001));
  EXPECT_EQ(held.done(), 2u);
  EXPECT_EQ(held.counted(), 2u);
  EXPECT_EQ(held.latency().count(), 1u);
  const auto next = held.post_due(microseconds(1100));
  EXPECT_EQ(next.first, 4u);
  ASSERT_EQ(next.count, 2u);
  EXPECT_TRUE(held.asks(next, 5));
  held.completed(3, 0, microseconds(1101));
  held.completed(1, 0, microseconds(1102));
  EXPECT_EQ(held.done(), 6u);
  EXPECT_FALSE(held.is_under_way());
}

TEST(FlowProgress, WhatEndedBeforeAnErrorWasMoved) {
  auto broken = flow();
  ASSERT_EQ(broken.post_due(microseconds(1000)).count, 4u);
  broken.completed(1, 12, microseconds(1001));
  broken.completed(3, 5, microseconds(1001));
  EXPECT_EQ(broken.done(), 1u) << "the one before the message that failed";
  EXPECT_EQ(broken.counted(), 1u);
  EXPECT_EQ(broken.latency().count(), 0u);
}

TEST(FlowProgress, WithoutAVolumeAllThatEndsAfterTheWarmUpCounts) {
  auto held = flow();
  held.start(microseconds(0), true);
  EXPECT_EQ(held.post_due(microseconds(1000)).count, 4u);
  held.completed(1, 0, microseconds(1001));
  held.measure_from(microseconds(1002));
  held.completed(3, 0, microseconds(1003));
  EXPECT_EQ(held.counted(), 2u);
}

TEST(FlowProgress, TimesEachMessageFromItsPostingToItsCompletion) {
  auto timed = flow();
  timed.post_due(microseconds(0));
  timed.completed(0, 0, microseconds(7));
  timed.post_due(microseconds(10));
  timed.completed(1, 0, microseconds(40));
  EXPECT_EQ(timed.latency().count(), 2u);
  EXPECT_LE(*timed.latency().quantile(0.5), microseconds(8));
  EXPECT_GE(*timed.latency().quantile(1.0), microseconds(30));
}

TEST(FlowProgress, WhatTheWarmUpMovedDoesNotCount) {
  FlowProgress warmed(microseconds(10), 4, 2);
  warmed.start(microseconds(0), true);
  for (int i = 0; i < 5; ++i) {
    warmed.post_due(microseconds(10 * i));
    warmed.completed(static_cast<std::uint32_t>(i) % 4, 0, microseconds(10 * i + 1));
  }
  EXPECT_FALSE(warmed.ended()) << "its volume has not begun";
  warmed.measure_from(microseconds(50));
  EXPECT_EQ(warmed.due(), 0u);
  EXPECT_EQ(warmed.counted(), 0u);
  EXPECT_EQ(warmed.latency().count(), 0u);
  EXPECT_EQ(warmed.done(), 5u) << "but it was moved";
}

TEST(FlowProgress, WhatIsUnderWayWhenTheWarmUpEndsDoesNotCount) {
  auto held = flow(3);
  held.start(microseconds(0), true);
  EXPECT_EQ(held.post_due(microseconds(1000)).count, 4u) << "as many as may be under way";
  held.measure_from(microseconds(1000));
  for (std::uint32_t place = 0; place < 4; ++place) held.completed(place, 0, microseconds(1001));
  EXPECT_EQ(held.counted(), 0u);
  std::uint64_t posted = 0;
  for (int i = 0; i < 8; ++i) {
    const auto next = held.post_due(microseconds(2000 + 100 * i));
    for (std::uint64_t k = 0; k < next.count; ++k)
      held.completed(static_cast<std::uint32_t>((next.first + k) % 4), 0, microseconds(2001 + 100 * i));
    posted += next.count;
  }
  EXPECT_EQ(posted, 3u) << "its volume, and none of the backlog";
  EXPECT_EQ(held.counted(), 3u);
  EXPECT_TRUE(held.ended());
}

TEST(FlowProgress, EndsWithItsVolumeOrItsError) {
  auto small = flow(2);
  EXPECT_EQ(small.post_due(microseconds(1000)).count, 2u) << "no more than its volume";
  small.completed(0, 0, microseconds(1001));
  EXPECT_FALSE(small.ended());
  small.completed(1, 0, microseconds(1002));
  EXPECT_TRUE(small.has_moved_its_volume());
  auto broken = flow();
  broken.post_due(microseconds(0));
  broken.completed(0, 12, microseconds(9));
  EXPECT_EQ(broken.done(), 0u);
  broken.completed(1, 5, microseconds(9));
  EXPECT_EQ(broken.error(), 12) << "the first word is the reason, the others are its consequence";
  const auto due = broken.due();
  EXPECT_EQ(broken.post_due(microseconds(90)).count, 0u);
  EXPECT_GT(broken.due(), due) << "what its rate allows is what was offered: none of it arrives";
  EXPECT_GT(broken.next(), microseconds(90)) << "nobody is to look again and again";
  EXPECT_FALSE(broken.ended()) << "its time goes on";
  auto half = flow(2);
  half.post_due(microseconds(0));
  half.completed(0, 12, microseconds(9));
  EXPECT_TRUE(half.ended()) << "its volume will never be moved";
}

TEST(FlowProgress, AfterTheTimeIsOverNothingCountsAnyMore) {
  auto over = flow();
  over.post_due(microseconds(0));
  over.stop_counting();
  over.completed(0, 0, microseconds(1));
  EXPECT_EQ(over.counted(), 0u);
  EXPECT_FALSE(over.is_under_way());
}

}  // namespace
}  // namespace weft::verbs
