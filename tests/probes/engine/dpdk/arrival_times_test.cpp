// Whose stamps are used for what kind of device, and what becomes of a clock that goes wrong.
#include "probes/engine/dpdk/arrival_times.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "tests/fakes/fake_dpdk.hpp"
#include "topology/os/clocks.hpp"

namespace weft::dpdk {
namespace {

using Source = ArrivalTimes::Source;
using fakes::FakeDpdk;

constexpr WeftDpdkAbilities kStampsTicks{
    .queues = 1, .stamps = 1, .reads_clock = 1, .isolated = 0, .no_isolated = {}};

ArrivalTimes times_of(const FakeDpdk& dpdk, const WeftDpdkAbilities& has, bool nanoseconds = false) {
  return ArrivalTimes::of(dpdk.library(), nullptr, has, nanoseconds, std::nullopt);
}

std::uint64_t ticks_now() { return static_cast<std::uint64_t>(os::steady_now().count()) / 4 + 12345; }

WeftDpdkFrame stamped(std::uint64_t stamp) { return {nullptr, 0, stamp, nullptr}; }

TEST(ArrivalTimes, OfADeviceWithAClockAreThoseOfItsStamps) {
  FakeDpdk dpdk;
  dpdk.clock = ticks_now;  // 250 MHz
  auto times = times_of(dpdk, kStampsTicks);
  ASSERT_EQ(times.source(), Source::device);
  EXPECT_EQ(times.look(64), 64u);
  auto frame = stamped(ticks_now());
  const auto came = os::steady_now();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  times.read({&frame, 1});
  const auto now = os::steady_now();
  const auto at = times.time_of(frame, now);
  EXPECT_LT(at, now - std::chrono::milliseconds(25));
  EXPECT_LT(std::chrono::abs(at - came), std::chrono::milliseconds(5));
}

TEST(ArrivalTimes, OfAFrameWithoutAStampIsWhenItIsRead) {
  FakeDpdk dpdk;
  dpdk.clock = ticks_now;
  auto times = times_of(dpdk, kStampsTicks);
  EXPECT_EQ(times.time_of(stamped(0), Nanoseconds(77)), Nanoseconds(77));
  const auto now = os::steady_now();
  EXPECT_EQ(times.time_of(stamped(ticks_now() + 1'000'000'000), now), now) << "of the future";
}

TEST(ArrivalTimes, OfADriverThatStampsByTheWallClockNeedNoOther) {
  FakeDpdk dpdk;
  auto has = kStampsTicks;
  has.reads_clock = 0;
  auto times = times_of(dpdk, has, true);
  ASSERT_EQ(times.source(), Source::kernel);
  auto frame = stamped(static_cast<std::uint64_t>(os::wall_now().count()));
  const auto came = os::steady_now();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  times.look(64);
  times.read({&frame, 1});
  EXPECT_LT(std::chrono::abs(times.time_of(frame, os::steady_now()) - came), std::chrono::milliseconds(5));
}

TEST(ArrivalTimes, AreOursWhereTheDevicesClockIsNotToBeHadOrNone) {
  FakeDpdk dpdk;
  auto has = kStampsTicks;
  has.reads_clock = 0;
  EXPECT_EQ(times_of(dpdk, has).source(), Source::host) << "ticks of unknown length";
  EXPECT_EQ(times_of(dpdk, kStampsTicks).source(), Source::host) << "it answers no longer";
  dpdk.clock = [] { return std::uint64_t{5}; };
  EXPECT_EQ(times_of(dpdk, kStampsTicks).source(), Source::host) << "it stands still";
  dpdk.clock = [] {
    return static_cast<std::uint64_t>(os::steady_now().count()) * static_cast<std::uint64_t>(1e3);
  };
  EXPECT_EQ(times_of(dpdk, kStampsTicks).source(), Source::host) << "1 THz";
  dpdk.clock = ticks_now;
  has = kStampsTicks;
  has.queues = 2;
  EXPECT_EQ(times_of(dpdk, has).source(), Source::host) << "several queues";
  EXPECT_EQ(
      times_of(dpdk, {.queues = 1, .stamps = 0, .reads_clock = 1, .isolated = 0, .no_isolated = {}}).source(),
      Source::host);
}

TEST(ArrivalTimes, OfAClockThatJumpsAreOursFromThenOn) {
  FakeDpdk dpdk;
  std::uint64_t ahead = 0;
  dpdk.clock = [&] { return ticks_now() + ahead; };
  auto times = times_of(dpdk, kStampsTicks);
  ASSERT_EQ(times.source(), Source::device);
  ahead = 1'000'000'000;
  times.look(64);
  auto frame = stamped(ticks_now());
  times.read({&frame, 1});
  const auto now = os::steady_now();
  EXPECT_EQ(times.time_of(frame, now), now);
}

}  // namespace
}  // namespace weft::dpdk
