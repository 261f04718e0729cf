#include "probes/session/run_clock.hpp"

#include <gtest/gtest.h>

namespace weft::session {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const PortId kOne(1);
const PortId kTwo(2);
const PortId kThree(3);

TEST(RunClock, HostsWithClocksOfTheirOwnBeginTogether) {
  RunClock clock;
  EXPECT_FALSE(clock.window(kOne, {seconds(5), seconds(1)}));
  clock.begin_wave({{kOne, seconds(1000)}, {kTwo, seconds(7)}});
  EXPECT_EQ(clock.window(kOne, {seconds(1002), seconds(1)}), (TimeWindow{seconds(2), seconds(1)}));
  EXPECT_EQ(clock.window(kTwo, {seconds(9), seconds(1)}), (TimeWindow{seconds(2), seconds(1)}));
}

TEST(RunClock, ALaterWaveKeepsItsDistanceAndTellsTheClocksOfNewNics) {
  RunClock clock;
  clock.begin_wave({{kOne, seconds(1000)}, {kTwo, seconds(7)}});
  clock.begin_wave({{kOne, seconds(1060)}, {kThree, hours(9)}});
  EXPECT_EQ(clock.window(kThree, {hours(9), {}})->start, seconds(60));
  EXPECT_EQ(clock.window(kTwo, {seconds(77), {}})->start, seconds(70)) << "a NIC that was left out of a wave";
}

TEST(RunClock, AClockThatJumpsIsSetByTheOthers) {
  RunClock clock;
  clock.begin_wave({{kOne, seconds(10)}, {kTwo, seconds(10)}, {kThree, seconds(10)}});
  clock.begin_wave({{kOne, seconds(20)}, {kTwo, seconds(20) + milliseconds(5)}, {kThree, hours(100)}});
  EXPECT_NEAR(std::chrono::duration<double>(clock.window(kThree, {hours(100), {}})->start).count(), 10, 0.01);
  EXPECT_EQ(clock.window(kTwo, {seconds(21), {}})->start, seconds(11));
}

TEST(RunClock, AWaveWhoseClocksAllJumpedFollowsOnWhatWas) {
  RunClock clock;
  clock.begin_wave({{kOne, hours(3)}});
  EXPECT_EQ(clock.window(kOne, {hours(3), seconds(4)})->start, Nanoseconds(0));
  clock.begin_wave({{kOne, seconds(1)}});
  EXPECT_EQ(clock.window(kOne, {seconds(1), {}})->start, seconds(4));
}

}  // namespace
}  // namespace weft::session
