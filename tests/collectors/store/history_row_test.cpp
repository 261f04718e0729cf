#include "collectors/store/history_row.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace weft::store {
namespace {

using testing::HasSubstr;

std::vector<ChannelSample> drawn(std::size_t channels, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<ChannelSample> all(channels);
  for (auto& channel : all) {
    channel.sent = 36'000 + random() % 40;
    if (random() % 10 == 0) channel.lost = 1 + random() % 5;
    channel.verdict = random() % 50 == 0 ? Verdict::degraded : Verdict::healthy;
  }
  return all;
}

TEST(HistoryRow, ComesBackAsItWas) {
  for (const std::size_t channels : {0u, 1u, 2u, 999u, 1000u}) {
    const auto samples = drawn(channels, 7);
    EXPECT_EQ(unpack_row(pack_row(samples)), samples) << channels;
  }
  const std::vector<ChannelSample> extremes{
      {std::numeric_limits<std::uint64_t>::max(), std::numeric_limits<std::uint64_t>::max(), Verdict::failed},
      {},
      {1, 1, Verdict::congested},
      {0, 0, Verdict::unknown}};
  EXPECT_EQ(unpack_row(pack_row(extremes)), extremes);
}

TEST(HistoryRow, TakesAboutAByteAChannel) {
  EXPECT_LT(pack_row(drawn(1000, 1)).size(), 1'300u);
  EXPECT_LT(pack_row(std::vector<ChannelSample>(1000)).size(), 40u) << "channels that nothing covers";
}

TEST(HistoryRow, MoreLostThanSentIsNotKept) {
  const std::vector<ChannelSample> nonsense{{10, 20, Verdict::healthy}, {0, 5, Verdict::healthy}};
  const std::vector<ChannelSample> kept{{10, 10, Verdict::healthy}, {0, 0, Verdict::healthy}};
  EXPECT_EQ(unpack_row(pack_row(nonsense)), kept);
}

TEST(HistoryRow, ADamagedOneIsAnError) {
  const auto row = pack_row(drawn(1000, 3));
  EXPECT_THAT(unpack_row({}).error().message, HasSubstr("truncated"));
  EXPECT_FALSE(unpack_row(ByteSpan(row).first(row.size() / 2)));
  auto other = row;
  other[0] = std::byte(9);
  EXPECT_THAT(unpack_row(other).error().message, HasSubstr("version 9"));
  other = row;
  other[1] = std::byte(0xff);
  EXPECT_THAT(unpack_row(other).error().message, HasSubstr("channels"));
  for (std::size_t i = 7; i < row.size(); i += 13) {
    other = row;
    other[i] ^= std::byte(0x55);
    static_cast<void>(unpack_row(other));  // an error or another row, never more
  }
}

TEST(MergedSamples, AddUpAndKeepTheWorstThatIsKnown) {
  const ChannelSample quiet{100, 0, Verdict::unknown}, good{100, 1, Verdict::healthy},
      bad{50, 9, Verdict::degraded};
  EXPECT_EQ(merged(quiet, good), (ChannelSample{200, 1, Verdict::healthy}));
  EXPECT_EQ(merged(good, bad), (ChannelSample{150, 10, Verdict::degraded}));
  EXPECT_EQ(merged(bad, quiet).verdict, Verdict::degraded);
  EXPECT_EQ(merged(quiet, quiet).verdict, Verdict::unknown);
}

}  // namespace
}  // namespace weft::store
