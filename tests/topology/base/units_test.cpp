#include "topology/base/units.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Units, BandwidthReadsTheUsualSuffixes) {
  EXPECT_EQ(parse_bandwidth("400G"), Bandwidth::gbit(400));
  EXPECT_EQ(parse_bandwidth("12.5M"), Bandwidth::mbit(12.5));
}

TEST(Units, WhatIsNoQuantityIsRefusedWithTheTextInTheMessage) {
  for (const auto* text : {"", "fast", "-3G", "0G", "400X", "nan", "inf", "1e999", "0.5", "2000000T"}) {
    const auto rate = parse_bandwidth(text);
    ASSERT_FALSE(rate) << text;
    EXPECT_NE(rate.error().message.find(text), std::string::npos);
  }
  EXPECT_FALSE(parse_bytes("12MB2"));
  EXPECT_FALSE(parse_percent("101%"));
  EXPECT_FALSE(parse_duration("5"));
}

TEST(Units, TextFormsReadBack) {
  for (const auto rate : {Bandwidth::gbit(400), Bandwidth::mbit(12.5), Bandwidth::bit(7)})
    EXPECT_EQ(parse_bandwidth(to_string(rate)), rate);
  for (const auto size : {Bytes(0), Bytes(4096), Bytes(10'000'000)})
    EXPECT_EQ(parse_bytes(to_string(size)), size);
  for (const auto time : {Nanoseconds(0), Nanoseconds(250), Nanoseconds(2'000'000)})
    EXPECT_EQ(parse_duration(to_string(time)), time);
  EXPECT_EQ(to_string(Fraction::percent(0.5)), "0.5%");
}

TEST(Units, AnInfiniBandWordIsFourBytes) { EXPECT_EQ(Bytes::from_ib_words(3), Bytes(12)); }

TEST(Units, RateAndTimeAgree) {
  EXPECT_EQ(Bandwidth::mbit(50).time_for(Bytes(6250)), std::chrono::milliseconds(1));
  EXPECT_EQ(Bandwidth::over(Bytes(6250), std::chrono::milliseconds(1)), Bandwidth::mbit(50));
  EXPECT_EQ(Bandwidth::over(Bytes(6250), Nanoseconds(0)), Bandwidth());
}

}  // namespace
}  // namespace weft
