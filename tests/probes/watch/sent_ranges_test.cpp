#include "probes/watch/sent_ranges.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::watch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<SentRange> ranges_of(const SentRanges& sent, std::uint32_t nic) {
  std::vector<SentRange> all;
  sent.for_each(nic, [&](SentRange range) { all.push_back(range); });
  return all;
}

TEST(SentRanges, TellOfEachStreamHowManyOfItsProbesARangeHolds) {
  const SentRange range{3, 10};  // of four streams: 3 | 4 5 6 7 | 8 9
  EXPECT_EQ(sent_of(range, 0, 4), 2u);
  EXPECT_EQ(sent_of(range, 1, 4), 2u);
  EXPECT_EQ(sent_of(range, 2, 4), 1u);
  EXPECT_EQ(sent_of(range, 3, 4), 2u);
  EXPECT_EQ(sent_of({5, 5}, 1, 4), 0u);
}

TEST(SentRanges, TheStreamsOfARangeAddUpToItWhereverItBegins) {
  for (std::uint64_t first = 0; first < 12; ++first)
    for (std::uint64_t end = first; end < 30; ++end) {
      std::uint64_t all = 0;
      for (std::uint64_t stream = 0; stream < 5; ++stream) all += sent_of({first, end}, stream, 5);
      EXPECT_EQ(all, end - first) << first << " to " << end;
    }
}

TEST(SentRanges, ThatFollowEachOtherAreOneWhicheverComesFirst) {
  SentRanges sent(1);
  sent.add(0, {20, 30});
  sent.add(0, {30, 40});
  sent.add(0, {10, 20});
  EXPECT_THAT(ranges_of(sent, 0), ElementsAre(SentRange{10, 40}));
}

TEST(SentRanges, AGapStaysOneAndIsOfItsNicAlone) {
  SentRanges sent(2);
  sent.add(1, {0, 10});
  sent.add(1, {25, 30});
  sent.add(1, {30, 31});
  EXPECT_THAT(ranges_of(sent, 1), ElementsAre(SentRange{0, 10}, SentRange{25, 31}));
  EXPECT_EQ(sent.sent(1), 16u);
  EXPECT_EQ(sent.sent(1, 0, 2), 8u) << "0 2 4 6 8 and 26 28 30";
  EXPECT_THAT(ranges_of(sent, 0), IsEmpty());
  EXPECT_EQ(sent.sent(0), 0u);
}

TEST(SentRanges, AnEmptyRangeChangesNothing) {
  SentRanges sent(1);
  sent.add(0, {7, 7});
  EXPECT_THAT(ranges_of(sent, 0), IsEmpty());
  sent.add(0, {3, 5});
  sent.add(0, {9, 9});
  EXPECT_THAT(ranges_of(sent, 0), ElementsAre(SentRange{3, 5}));
}

TEST(SentRanges, OfAnAgentThatLeavesGapsWithoutEndTheNumbersAreKeptAndTheStorageIsBounded) {
  SentRanges sent(1);
  for (std::uint64_t i = 0; i < 1000; ++i) sent.add(0, {10 * i, 10 * i + 3});
  EXPECT_EQ(sent.sent(0), 3000u);
  EXPECT_LT(ranges_of(sent, 0).size(), 100u);
}

TEST(SentRanges, TwoSecondsAddUpWithTheirGaps) {
  SentRanges one(2), other(2);
  one.add(0, {0, 10});
  one.add(0, {20, 30});
  other.add(0, {10, 15});
  other.add(0, {40, 45});
  other.add(1, {0, 4});
  one.add(other);
  EXPECT_EQ(one.sent(0), 30u);
  EXPECT_EQ(one.sent(1), 4u);
  EXPECT_THAT(ranges_of(one, 0), ElementsAre(SentRange{0, 15}, SentRange{20, 30}, SentRange{40, 45}));
}

}  // namespace
}  // namespace weft::watch
