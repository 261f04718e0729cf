#include "probes/watch/window.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/hex.hpp"

namespace weft::watch {
namespace {

using fakes::from_hex;

LatencyHistogram histogram_of(std::initializer_list<std::int64_t> nanoseconds) {
  LatencyHistogram histogram;
  for (const auto each : nanoseconds) histogram.add(Nanoseconds(each));
  return histogram;
}

/// One of everything that docs/watch.md describes.
Window golden_window() {
  return {.boot = 0x1122334455667788,
          .number = 300,
          .plan = PlanVersion(7),
          .begin = Nanoseconds(1'000'000'000),
          .length = Nanoseconds(500),
          .stalled = true,
          .nics = {{.nic = 1,
                    .first = 1000,
                    .count = 500,
                    .lost = {{3, LostWay::there}, {4, LostWay::back}, {499, LostWay::open}},
                    .settled = {{990, LostWay::back}, {999, LostWay::there}},
                    .delays = {{2, histogram_of({20, 20, 23})}},
                    .dropped = 5}}};
}

// By hand from docs/watch.md.
const auto kGolden = from_hex(
    "01"
    "1122334455667788"
    "ac02"
    "07"
    "8094ebdc03"
    "f403"
    "01"
    "01"
    "01"
    "e807"
    "f403"
    "05"
    "03"
    "0c"
    "01"
    "ba0f"
    "02"
    "25"
    "20"
    "01"
    "02"
    "02"
    "14"
    "1f00");

TEST(WindowTest, IsWrittenAsTheGoldenBytes) { EXPECT_EQ(encode_window(golden_window()), kGolden); }

TEST(WindowTest, TheGoldenBytesReadBack) {
  const auto window = decode_window(kGolden);
  ASSERT_TRUE(window) << window.error().message;
  EXPECT_EQ(*window, golden_window());
}

TEST(WindowTest, AHealthyWindowOfEightNicsTakesAHundredBytes) {
  Window window{.boot = ~std::uint64_t{0},
                .number = 1'000'000,
                .plan = PlanVersion(1000),
                .begin = std::chrono::hours(24 * 30),
                .length = std::chrono::seconds(1)};
  for (std::uint32_t nic = 0; nic < 8; ++nic)
    window.nics.push_back({.nic = nic, .first = 500'000'000, .count = 500});
  EXPECT_LE(encode_window(window).size(), 130u);
}

TEST(WindowTest, TenSecondsOfAStreamsDelaysTakeLessThanTheirNumber) {
  Window window{.nics = {{.count = 500}}};
  const auto without = encode_window(window).size();
  LatencyHistogram histogram;
  for (int i = 0; i < 80; ++i) histogram.add(std::chrono::microseconds(60 + i * i % 60));
  window.nics[0].delays = {{3, histogram}};
  EXPECT_LE(encode_window(window).size() - without, 16u);
}

TEST(WindowTest, EveryCutIsRefused) {
  for (std::size_t size = 0; size < kGolden.size(); ++size)
    EXPECT_FALSE(decode_window(ByteSpan(kGolden).first(size))) << size;
}

TEST(WindowTest, MoreThanItsBytesIsRefused) {
  auto longer = kGolden;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_window(longer));
  EXPECT_FALSE(decode_window(std::vector<std::byte>(kMaxWindowBytes + 1)));
}

TEST(WindowTest, AnotherVersionIsNamed) {
  auto other = kGolden;
  other[0] = std::byte{3};
  const auto window = decode_window(other);
  ASSERT_FALSE(window);
  EXPECT_NE(window.error().message.find("version 3"), std::string::npos) << window.error().message;
}

TEST(WindowTest, ANumberHasOneFormOnly) {
  auto padded = kGolden;
  // 7, the plan, as two bytes
  padded[11] = std::byte{0x87};
  padded.insert(padded.begin() + 12, std::byte{0});
  EXPECT_FALSE(decode_window(padded));
}

TEST(WindowTest, ALossBeyondWhatWasSentIsRefused) {
  auto window = golden_window();
  window.nics[0].lost = {{500, LostWay::open}};
  EXPECT_FALSE(decode_window(encode_window(window)));
}

TEST(WindowTest, TracedHopsMakeAnotherVersionAndAreThereThen) {
  auto window = golden_window();
  const auto plain = encode_window(window);
  EXPECT_EQ(plain[0], std::byte{1});
  window.nics.back().traced = {{3, IpAddress(IpAddress::V4{10, 128, 0, 1})}};
  const auto traced = encode_window(window);
  EXPECT_EQ(traced[0], std::byte{2});
  EXPECT_EQ(*decode_window(traced), window);
  auto none = plain;  // version 2 that says of each NIC that nothing was traced has another form
  none[0] = std::byte{2};
  EXPECT_FALSE(decode_window(none));
  for (std::size_t size = 0; size < traced.size(); ++size)
    EXPECT_FALSE(decode_window(ByteSpan(traced).first(size))) << size;
  auto no_address = traced;
  no_address[traced.size() - 5] = std::byte{5};  // the family
  EXPECT_FALSE(decode_window(no_address));
}

TEST(WindowTest, MoreProbesThanAnAgentSendsAreRefused) {
  auto window = golden_window();
  window.nics[0].count = kMaxProbesOfWindow + 1;
  EXPECT_FALSE(decode_window(encode_window(window)));
}

TEST(WindowTest, AHostileCountTakesNoMemory) {
  // 4,000 NICs, and nothing behind.
  EXPECT_FALSE(
      decode_window(from_hex("01"
                             "0000000000000000"
                             "00"
                             "01"
                             "00"
                             "00"
                             "00"
                             "a01f")));
}

rc::Gen<LostWay> ways(LostWay last) {
  return rc::gen::map(rc::gen::inRange(0, static_cast<int>(last) + 1),
                      [](int way) { return static_cast<LostWay>(way); });
}

IpAddress any_address() {
  IpAddress::V6 bytes;
  for (auto& byte : bytes) byte = *rc::gen::arbitrary<std::uint8_t>();
  return *rc::gen::arbitrary<bool>() ? IpAddress(bytes)
                                     : IpAddress(IpAddress::V4{bytes[0], bytes[1], bytes[2], bytes[3]});
}

NicWindow any_nic() {
  NicWindow nic{.nic = *rc::gen::arbitrary<std::uint32_t>(),
                .first = *rc::gen::inRange<std::uint64_t>(0, 1ULL << 40),
                .count = *rc::gen::inRange<std::uint32_t>(0, 2000),
                .dropped = *rc::gen::inRange<std::uint32_t>(0, 10)};
  for (std::uint32_t offset = 0; offset < nic.count; offset += *rc::gen::inRange<std::uint32_t>(1, 500))
    nic.lost.push_back({offset, *ways(LostWay::open)});
  for (std::uint64_t back = *rc::gen::inRange<std::uint64_t>(0, 300); back > 0; back /= 2)
    if (back <= nic.first) nic.settled.push_back({nic.first - back, *ways(LostWay::back)});
  for (std::uint32_t stream = 0; stream < 20; stream += *rc::gen::inRange<std::uint32_t>(1, 15)) {
    nic.delays.push_back({stream, {}});
    for (int i = *rc::gen::inRange(0, 60); i > 0; --i)
      nic.delays.back().rtt.add(Nanoseconds(*rc::gen::inRange<std::int64_t>(0, 1LL << 34)));
  }
  for (std::uint32_t stream = 0; *rc::gen::inRange(0, 3) > 0;
       stream += *rc::gen::inRange<std::uint32_t>(1, 9))
    nic.traced.push_back({stream, any_address()});
  return nic;
}

RC_GTEST_PROP(WindowProperties, WhatIsWrittenReadsBackTheSame, ()) {
  Window window{.boot = *rc::gen::arbitrary<std::uint64_t>(),
                .number = *rc::gen::inRange<std::uint64_t>(0, 1ULL << 50),
                .plan = PlanVersion(*rc::gen::arbitrary<std::uint32_t>()),
                .begin = Nanoseconds(*rc::gen::inRange<std::int64_t>(0, 1LL << 60)),
                .length = Nanoseconds(*rc::gen::inRange<std::int64_t>(0, 1LL << 40)),
                .stalled = *rc::gen::arbitrary<bool>()};
  for (int nics = *rc::gen::inRange(0, 5); nics > 0; --nics) window.nics.push_back(any_nic());
  const auto read = decode_window(encode_window(window));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == window);
}

}  // namespace
}  // namespace weft::watch
