#include "probes/watch/standing_counts.hpp"

#include <gtest/gtest.h>

namespace weft::watch {
namespace {

using namespace std::chrono_literals;
constexpr PortId kNic{1};
constexpr BatchId kBatch{9};

TEST(StandingCountsTest, CountsEachProbeOnceAndKnowsALateOne) {
  StandingCounts counts(1);
  const auto first = counts.count(kNic, kBatch, 0, 100, 0s);
  ASSERT_TRUE(first);
  EXPECT_EQ(counts.count(kNic, kBatch, 0, 102, 0s), static_cast<std::uint16_t>(*first + 1));
  EXPECT_EQ(counts.count(kNic, kBatch, 0, 101, 0s), static_cast<std::uint16_t>(*first + 2));
  EXPECT_FALSE(counts.count(kNic, kBatch, 0, 101, 0s));
  EXPECT_FALSE(counts.count(kNic, kBatch, 0, 30, 0s)) << "too old to say";
}

TEST(StandingCountsTest, SequencesWrap) {
  StandingCounts counts(1);
  ASSERT_TRUE(counts.count(kNic, kBatch, 0, 0xFFFFFFFF, 0s));
  EXPECT_TRUE(counts.count(kNic, kBatch, 0, 0, 0s));
  EXPECT_FALSE(counts.count(kNic, kBatch, 0, 0xFFFFFFFF, 0s));
}

TEST(StandingCountsTest, TwoBatchesOfANicAreKept) {
  StandingCounts counts(1);
  ASSERT_TRUE(counts.count(kNic, BatchId(1), 0, 0, 0s));
  ASSERT_TRUE(counts.count(kNic, BatchId(2), 0, 0, 0s));
  EXPECT_FALSE(counts.count(kNic, BatchId(1), 0, 0, 0s)) << "it has come";
  ASSERT_TRUE(counts.count(kNic, BatchId(3), 0, 0, 0s));
  EXPECT_EQ(counts.streams(), 2u);
}

TEST(StandingCountsTest, MemoryIsBounded) {
  StandingCounts counts(1, {.streams = 10, .rate = 1000});
  for (std::uint32_t stream = 0; stream < 100; ++stream)
    EXPECT_EQ(counts.count(kNic, kBatch, stream, 0, 0s).has_value(), stream < 10);
  counts.keep({}, {});
  EXPECT_EQ(counts.streams(), 0u);
  EXPECT_TRUE(counts.count(kNic, kBatch, 50, 0, 0s));
}

TEST(StandingCountsTest, WhoAsksTooOftenIsNotAnsweredForTheRestOfTheSecond) {
  StandingCounts counts(1, {.rate = 5});
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(counts.count(kNic, kBatch, 0, i, 1s).has_value(), i < 5);
  EXPECT_TRUE(counts.count(PortId(2), kBatch, 0, 0, 1s));
  EXPECT_TRUE(counts.count(kNic, kBatch, 0, 20, 2s));
}

}  // namespace
}  // namespace weft::watch
