#include "probes/rdma/verbs_device.hpp"

#include <gtest/gtest.h>

namespace weft::rdma {
namespace {

using std::chrono::microseconds;

constexpr std::uint64_t k48Bits = (1ULL << 48U) - 1;

TEST(DeviceClock, TurnsTicksIntoTimeByItsRate) {
  auto clock = DeviceClock::make(1'000'000, k48Bits).value();  // 1 GHz
  const Nanoseconds start = clock.read(5'000);
  EXPECT_EQ(clock.read(12'000) - start, microseconds(7));
  auto slow = DeviceClock::make(156'250, k48Bits).value();  // a ConnectX-4's
  const Nanoseconds then = slow.read(0);
  EXPECT_EQ(slow.read(156'250'000) - then, std::chrono::seconds(1));
}

TEST(DeviceClock, GoesOnWhereTheCounterWraps) {
  auto clock = DeviceClock::make(1'000'000, k48Bits).value();
  const Nanoseconds start = clock.read(k48Bits - 999);
  EXPECT_EQ(clock.read(1'000) - start, microseconds(2));
}

TEST(DeviceClock, StampsThatComeOutOfOrderAreEarlierNotATurnLater) {
  auto clock = DeviceClock::make(1'000'000, ~0ULL).value();
  const Nanoseconds start = clock.read(10'000);
  EXPECT_EQ(start - clock.read(9'000), microseconds(1));
  EXPECT_EQ(clock.read(11'000) - start, microseconds(1));
}

TEST(DeviceClock, ThereIsNoneOfADeviceThatCountsNoTime) {
  EXPECT_FALSE(DeviceClock::make(0, k48Bits));
  EXPECT_FALSE(DeviceClock::make(1'000'000, 0));
}

}  // namespace
}  // namespace weft::rdma
