// Stamps of a device as times of ours, and those that nobody believes.
#include "probes/engine/dpdk/stamp_clock.hpp"

#include <gtest/gtest.h>

#include <random>

namespace weft::dpdk {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kWall = 1'796'000'000'000'000'000;  // nanoseconds since 1970
constexpr Nanoseconds kStart = seconds(500);

StampClock wall() { return StampClock::of_nanoseconds({kWall, kStart}); }

TEST(StampClock, ReadsNanosecondsOfAnotherClockOnOurs) {
  auto clock = wall();
  EXPECT_EQ(clock.time_of(kWall + 5'000, kStart + microseconds(9)), kStart + microseconds(5));
  ASSERT_TRUE(clock.hold({kWall + 1'000'000, kStart + milliseconds(1)}));
  EXPECT_EQ(clock.time_of(kWall + 900'000, kStart + milliseconds(1)), kStart + microseconds(900));
}

TEST(StampClock, DoesNotBelieveAStampOfTheFuture) {
  auto clock = wall();
  EXPECT_FALSE(clock.time_of(kWall + 5'001, kStart + microseconds(5)));
  EXPECT_FALSE(clock.time_of(kWall + 8'000'000'000'000'000, kStart + hours(2000)));
}

TEST(StampClock, DoesNotBelieveAStampFromBeforeWhatWasRead) {
  auto clock = wall();
  clock.all_read_until(kStart + seconds(1));
  const auto now = kStart + seconds(2);
  EXPECT_FALSE(clock.time_of(kWall + 900'000'000, now)) << "100 ms before the queue was last empty";
  EXPECT_TRUE(clock.time_of(kWall + 999'000'000, now)) << "the kernel had it in hand for a millisecond";
  EXPECT_FALSE(clock.time_of(kWall - 1, now));
  EXPECT_FALSE(clock.time_of(1, now));
  EXPECT_FALSE(clock.time_of(~std::uint64_t{0}, now));
}

TEST(StampClock, DoesNotBelieveAJumpBack) {
  auto clock = wall();
  const auto now = kStart + seconds(2);
  EXPECT_TRUE(clock.time_of(kWall + 1'500'000'000, now));
  EXPECT_TRUE(clock.time_of(kWall + 1'499'990'000, now)) << "10 us out of order";
  EXPECT_FALSE(clock.time_of(kWall + 1'400'000'000, now));
  EXPECT_TRUE(clock.time_of(kWall + 1'500'000'100, now)) << "the next is believed again";
}

TEST(StampClock, SurvivesThatTheWallClockIsSet) {
  auto clock = wall();
  // An hour on, an hour back: what was stamped before is not believed, what is stamped then is.
  for (const std::int64_t set : {3'600'000'000'000, -3'600'000'000'000}) {
    const auto ticks = kWall + static_cast<std::uint64_t>(set);
    ASSERT_TRUE(clock.hold({ticks, kStart}));
    EXPECT_FALSE(clock.time_of(kWall + 1'000, kStart + microseconds(2)));
    EXPECT_EQ(clock.time_of(ticks + 1'000, kStart + microseconds(2)), kStart + microseconds(1));
  }
}

TEST(StampClock, MeasuresHowLongATickIs) {
  // 156.25 MHz: 6.4 ns.
  auto clock = StampClock::measured({1'000, kStart}, {1'000 + 15'625'000, kStart + milliseconds(100)});
  ASSERT_TRUE(clock);
  const auto at = clock->time_of(1'000 + 15'625'000 + 156'250, kStart + milliseconds(102));
  EXPECT_EQ(at, kStart + milliseconds(101));
}

TEST(StampClock, AMeasuredClockMayWrap) {
  const std::uint64_t first = 0 - std::uint64_t{1'000'000};
  auto clock = StampClock::measured({first, kStart}, {first + 100'000'000, kStart + milliseconds(100)});
  ASSERT_TRUE(clock);
  EXPECT_EQ(clock->time_of(first + 101'000'000, kStart + milliseconds(102)), kStart + milliseconds(101));
}

TEST(StampClock, RefusesAClockThatIsNone) {
  const ClockPair first{1'000'000, kStart};
  const auto after = kStart + milliseconds(100);
  EXPECT_FALSE(StampClock::measured(first, {1'000'000, after})) << "it stands still";
  EXPECT_FALSE(StampClock::measured(first, {900'000, after})) << "it goes back";
  EXPECT_FALSE(StampClock::measured(first, {1'000'100, after})) << "1 kHz";
  EXPECT_FALSE(StampClock::measured(first, {1'000'000'000'000, after})) << "10 THz";
  EXPECT_FALSE(StampClock::measured(first, {2'000'000, kStart + milliseconds(1)})) << "too soon to say";
  EXPECT_FALSE(StampClock::measured(first, {2'000'000, kStart - milliseconds(100)}));
}

TEST(StampClock, AMeasuredClockThatJumpsOrSlowsDownIsGivenUp) {
  const auto clock = [] {
    return *StampClock::measured({0, kStart}, {100'000'000, kStart + milliseconds(100)});
  };
  EXPECT_TRUE(clock().hold({200'010'000, kStart + milliseconds(200)})) << "10 us of reading";
  EXPECT_FALSE(clock().hold({300'000'000, kStart + milliseconds(200)}));
  EXPECT_FALSE(clock().hold({150'000'000, kStart + milliseconds(200)}));
  EXPECT_FALSE(clock().hold({50'000'000, kStart + milliseconds(200)}));
}

TEST(StampClock, OfAnyStampGivesNoTimeOutsideItsBounds) {
  std::mt19937_64 draws(22);
  auto clock = wall();
  auto measured = *StampClock::measured({kWall, kStart}, {kWall + 100'000'000, kStart + milliseconds(100)});
  Nanoseconds now = kStart + milliseconds(100);
  for (int i = 0; i < 100'000; ++i) {
    now += microseconds(draws() % 2000);
    const auto near = kWall + static_cast<std::uint64_t>((now - kStart).count()) - draws() % 50'000'000;
    const auto stamp = draws() % 4 == 0 ? draws() : near;
    for (StampClock* one : {&clock, &measured})
      if (const auto at = one->time_of(stamp, now)) {
        EXPECT_LE(*at, now);
        EXPECT_GE(*at, kStart - milliseconds(10));
      }
  }
}

}  // namespace
}  // namespace weft::dpdk
