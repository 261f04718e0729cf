#include "probes/engine/verbs/ping_times.hpp"

#include <gtest/gtest.h>

namespace weft::verbs {
namespace {

using std::chrono::microseconds;

/// Probe `n` leaves 5 us after it was posted, is away `network` and `responder`, and is seen 3 us after it is
/// back.
void probe(PingTimes& times, std::uint32_t n, microseconds network, microseconds responder) {
  const Nanoseconds start = microseconds(1000 * n);
  const Nanoseconds back = start + microseconds(5) + network + responder;
  times.posted(n, start);
  times.sent(n, start + microseconds(5));
  EXPECT_TRUE(times.answered(n, back, back + microseconds(3)));
  times.turned_around(n, responder);
}

TEST(PingTimes, TellTheNetworkTheProberAndTheResponderApart) {
  PingTimes times(3);
  for (std::uint32_t n = 0; n < 3; ++n) probe(times, n, microseconds(20), microseconds(400));
  EXPECT_EQ(times.network()->p50, microseconds(20));
  EXPECT_EQ(times.responder()->p50, microseconds(400));
  EXPECT_EQ(times.prober()->p50, microseconds(8));
  EXPECT_EQ(times.whole()->p50, microseconds(428));
  EXPECT_TRUE(times.settled());
}

TEST(PingTimes, TellWhenProbesWentAndWhichWereNotAnswered) {
  PingTimes times(6);
  EXPECT_FALSE(times.window());
  for (const std::uint32_t n : {0u, 3u}) probe(times, n, microseconds(20), microseconds(10));
  probe(times, 5, microseconds(20), std::chrono::milliseconds(100));
  for (const std::uint32_t n : {1u, 2u}) times.posted(n, microseconds(1000 * n));
  EXPECT_TRUE(times.unanswered().empty()) << "one was not sent: which those are of all is not known";
  times.posted(4, microseconds(4000));
  EXPECT_EQ(times.unanswered(), (std::vector<LossRun>{{1, 2}, {4, 1}}));
  EXPECT_EQ(times.window(), (TimeWindow{microseconds(0), microseconds(5000)}));
  EXPECT_EQ(times.late_count(), 1u);
}

TEST(PingTimes, ASlowHostDoesNotMakeTheNetworkLookSlow) {
  PingTimes times(2);
  probe(times, 0, microseconds(20), microseconds(10));
  probe(times, 1, microseconds(20), microseconds(90'000));
  EXPECT_EQ(times.network()->p99, microseconds(20));
  EXPECT_EQ(times.responder()->p99, microseconds(90'000));
}

TEST(PingTimes, CountEachProbeOnceAndOnlyThoseThatWereSent) {
  PingTimes times(4);
  times.posted(0, microseconds(1));
  times.posted(1, microseconds(2));
  EXPECT_TRUE(times.answered(1, microseconds(9), microseconds(9)));
  EXPECT_FALSE(times.answered(1, microseconds(10), microseconds(10))) << "a repeat";
  EXPECT_FALSE(times.answered(3, microseconds(9), microseconds(9))) << "never sent";
  EXPECT_FALSE(times.answered(99, microseconds(9), microseconds(9))) << "not ours";
  EXPECT_EQ(times.sent_count(), 2u);
  EXPECT_EQ(times.answered_count(), 1u);
  EXPECT_FALSE(times.settled());
}

TEST(PingTimes, WithoutTheRespondersShareNothingIsSaidOfTheNetwork) {
  PingTimes times(1);
  times.posted(0, microseconds(1));
  times.sent(0, microseconds(2));
  times.answered(0, microseconds(30), microseconds(31));
  EXPECT_FALSE(times.network());
}

TEST(PingTimes, OfADevicesClockAreNotMixedWithTheHosts) {
  PingTimes times(2, false);
  const Nanoseconds apart = std::chrono::hours(5);  // the device's clock, ahead
  times.posted(0, microseconds(10));
  times.answered(0, apart + microseconds(40), microseconds(41));
  times.turned_around(0, microseconds(5));
  EXPECT_FALSE(times.network()) << "nobody knows yet when it was sent";
  times.sent(0, apart + microseconds(15));
  EXPECT_EQ(times.network()->p50, microseconds(20));
  EXPECT_EQ(times.prober()->p50, microseconds(6));
}

TEST(PingTimes, ASendWhoseCompletionWasSeenAfterTheAnswerCountsFromItsPosting) {
  PingTimes times(1);
  times.posted(0, microseconds(10));
  times.answered(0, microseconds(40), microseconds(41));
  times.sent(0, microseconds(42));
  times.turned_around(0, microseconds(5));
  EXPECT_GE(times.network()->p50, Nanoseconds(0));
}

TEST(PingTimes, AResponderThatSaysWhatCannotBeIsNotBelieved) {
  PingTimes times(3);
  probe(times, 0, microseconds(20), microseconds(400));
  for (const std::uint32_t n : {1u, 2u}) {
    times.posted(n, microseconds(10));
    times.sent(n, microseconds(11));
    times.answered(n, microseconds(31), microseconds(32));
  }
  times.turned_around(1, Nanoseconds::max());
  times.turned_around(2, Nanoseconds::min());
  EXPECT_EQ(times.responder()->p99, microseconds(400));
  EXPECT_EQ(times.network()->p99, microseconds(20));
}

TEST(PingTimes, WhatTheDeviceDidNotSendIsNotSentAndNothingIsWaitedFor) {
  PingTimes times(3);
  for (const std::uint32_t sequence : {0u, 1u}) times.posted(sequence, microseconds(sequence));
  ASSERT_TRUE(times.answered(0, microseconds(5), microseconds(6)));
  for (const std::uint32_t sequence : {0u, 1u, 2u, 3u}) times.not_sent(sequence);
  EXPECT_EQ(times.sent_count(), 1u) << "what was answered was sent; two were never posted";
  EXPECT_TRUE(times.settled());
}

}  // namespace
}  // namespace weft::verbs
