#include "probes/datapath/pacer.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "probes/datapath/ping_book.hpp"
#include "probes/datapath/sequence_window.hpp"

namespace weft::datapath {
namespace {

using std::chrono::milliseconds;

TEST(Pacer, LetsOneGoEachInterval) {
  Pacer pacer(milliseconds(10), 1, milliseconds(100));
  EXPECT_EQ(pacer.allowance(milliseconds(99)), 0u);
  EXPECT_EQ(pacer.allowance(milliseconds(100)), 1u);
  pacer.sent(1);
  EXPECT_EQ(pacer.next(), milliseconds(110));
  EXPECT_EQ(pacer.allowance(milliseconds(105)), 0u);
  EXPECT_EQ(pacer.allowance(milliseconds(110)), 1u);
}

TEST(Pacer, CatchesUpWithABurstAndForgetsTheRest) {
  Pacer pacer(milliseconds(10), 4, milliseconds(0));
  EXPECT_EQ(pacer.allowance(milliseconds(20)), 3u);
  EXPECT_EQ(pacer.allowance(milliseconds(10'000)), 4u);
  pacer.sent(4);
  EXPECT_EQ(pacer.allowance(milliseconds(10'000)), 0u);
  EXPECT_EQ(pacer.next(), milliseconds(10'010));
}

TEST(Pacer, NeverExceedsItsRateOverAnyTime) {
  std::mt19937 random(3);
  Pacer pacer(milliseconds(1), 4, milliseconds(0));
  Nanoseconds now{};
  std::size_t sent = 0;
  for (int i = 0; i < 1000; ++i) {
    now += std::chrono::microseconds(random() % 5000);
    const auto allowed = pacer.allowance(now);
    EXPECT_LE(allowed, 4u);
    pacer.sent(allowed);
    sent += allowed;
    EXPECT_LE(sent, static_cast<std::size_t>(now / milliseconds(1)) + 1);
  }
  EXPECT_GT(sent, 1500u);
}

TEST(Pacer, WithoutAnIntervalAlwaysLetsABurstGo) {
  Pacer pacer(milliseconds(0), 8, milliseconds(5));
  pacer.sent(8);
  EXPECT_EQ(pacer.allowance(milliseconds(5)), 8u);
}

TEST(SequenceWindow, AgreesWithASetAsLongAsNothingIsTooLate) {
  std::mt19937 random(5);
  SequenceWindow window;
  std::set<std::uint32_t> seen;
  std::uint32_t base = 0;
  for (int i = 0; i < 20'000; ++i) {
    base += static_cast<std::uint32_t>(random() % 3);
    const auto sequence = base + static_cast<std::uint32_t>(random() % 500);
    EXPECT_EQ(window.insert(sequence), seen.insert(sequence).second) << sequence;
  }
}

TEST(SequenceWindow, WhatIsOlderThanTheWindowIsNotNew) {
  SequenceWindow window;
  EXPECT_TRUE(window.insert(5000));
  EXPECT_TRUE(window.insert(5001 - SequenceWindow::kWidth));
  EXPECT_FALSE(window.insert(5000 - SequenceWindow::kWidth));
  EXPECT_TRUE(window.insert(0xFFFFFFFF));
  EXPECT_FALSE(window.insert(0xFFFFFFFF));
  EXPECT_TRUE(window.insert(0xFFFFFFFE));
  EXPECT_FALSE(window.insert(5000));
}

TEST(Quantiles, AreTheNearestRanks) {
  std::vector<Nanoseconds> times;
  EXPECT_FALSE(quantiles_of(times));
  for (int i = 200; i >= 1; --i) times.push_back(Nanoseconds(i));
  EXPECT_EQ(quantiles_of(times), (RttQuantiles{Nanoseconds(100), Nanoseconds(198)}));
  EXPECT_EQ(quantiles_of({Nanoseconds(7)}), (RttQuantiles{Nanoseconds(7), Nanoseconds(7)}));
}

}  // namespace
}  // namespace weft::datapath
