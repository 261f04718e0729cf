#include "balancer/flowsim/fair_share.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace weft::flowsim {
namespace {

Stream over(std::initializer_list<std::uint32_t> channels, double bytes = 100) {
  Stream stream{bytes, {}};
  for (const std::uint32_t c : channels) stream.uses.push_back({ChannelId(c), 1});
  return stream;
}

/// Bytes per second that each gets while all run: it is through long before the others.
std::vector<double> rates_of(std::vector<Stream> streams, const std::vector<double>& capacity) {
  for (Stream& stream : streams) stream.bytes = 1e9;
  std::vector<double> rates;
  for (std::size_t s = 0; s < streams.size(); ++s) {
    streams[s].bytes = 1;
    rates.push_back(1 / completion_times(streams, capacity)[s]);
    streams[s].bytes = 1e9;
  }
  return rates;
}

TEST(MaxMinRates, AChannelIsSharedEvenlyAndWhatOneCannotUseTheOthersGet) {
  // The textbook line: one long stream over both channels, one short on each; channel 1 twice as fast.
  const std::vector streams{over({0, 1}), over({0}), over({1})};
  const auto rates = rates_of(streams, {10, 20});
  EXPECT_DOUBLE_EQ(rates[0], 5);
  EXPECT_DOUBLE_EQ(rates[1], 5);
  EXPECT_DOUBLE_EQ(rates[2], 15);
}

TEST(MaxMinRates, ASprayedStreamLoadsEachChannelByItsShare) {
  const Stream sprayed{100, {{ChannelId(0), 0.5}, {ChannelId(1), 0.5}}};
  const auto alone = rates_of({sprayed}, {10, 10});
  EXPECT_DOUBLE_EQ(alone[0], 20);
}

TEST(MaxMinRates, NoStreamExceedsAChannelAndEachIsHeldBySomeFullOne) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<double> capacity;
    for (int c = 0; c < 12; ++c) capacity.push_back(1 + static_cast<double>(random() % 50));
    std::vector<Stream> streams;
    for (int s = 0; s < 40; ++s) {
      const auto first = static_cast<std::uint32_t>(random() % 12);
      streams.push_back(over({first, (first + 1 + static_cast<std::uint32_t>(random() % 11)) % 12}));
    }
    const auto rates = rates_of(streams, capacity);
    std::vector<double> load(12), fastest(12);
    for (std::size_t s = 0; s < streams.size(); ++s)
      for (const auto& use : streams[s].uses) {
        load[use.channel.value()] += rates[s];
        fastest[use.channel.value()] = std::max(fastest[use.channel.value()], rates[s]);
      }
    for (std::size_t c = 0; c < 12; ++c) EXPECT_LE(load[c], capacity[c] * (1 + 1e-9));
    for (std::size_t s = 0; s < streams.size(); ++s) {
      bool held = false;  // a full channel on which nobody is faster: the definition of max-min fair
      for (const auto& use : streams[s].uses) {
        const auto c = use.channel.value();
        held |= load[c] > capacity[c] * (1 - 1e-9) && rates[s] > fastest[c] * (1 - 1e-9);
      }
      EXPECT_TRUE(held);
    }
  }
}

TEST(CompletionTimes, SharesGrowWhenAStreamEnds) {
  // Both at 5 until 10 s, when the short one is through; the long one has 50 left, at 10.
  const std::vector streams{over({0}, 50), over({0}, 100)};
  const auto times = completion_times(streams, std::vector<double>{10});
  EXPECT_DOUBLE_EQ(times[0], 10);
  EXPECT_DOUBLE_EQ(times[1], 15);
}

TEST(CompletionTimes, OverADeadChannelIsNeverAndWithoutChannelsAtOnce) {
  const std::vector streams{over({0}), over({}), over({1})};
  const auto times = completion_times(streams, std::vector<double>{0, 10});
  EXPECT_TRUE(std::isinf(times[0]));
  EXPECT_DOUBLE_EQ(times[1], 0);
  EXPECT_DOUBLE_EQ(times[2], 10);
}

TEST(CompletionTimes, AChannelIsBusyUntilAllItsBytesAreThrough) {
  std::vector<Stream> streams;
  double total = 0;
  for (int s = 1; s <= 30; ++s) {
    streams.push_back(over({0}, s * 7));
    total += s * 7;
  }
  const auto exact = completion_times(streams, std::vector<double>{3});
  EXPECT_NEAR(*std::max_element(exact.begin(), exact.end()), total / 3, 1e-6);
  const auto rough = completion_times(streams, std::vector<double>{3}, 0.01);
  EXPECT_NEAR(*std::max_element(rough.begin(), rough.end()), total / 3, total / 3 * 0.02);
}

}  // namespace
}  // namespace weft::flowsim
