#include "probes/watch/standing_prober.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/standing_bench.hpp"

namespace weft::watch {
namespace {

using namespace std::chrono_literals;
using fakes::Frame;
using fakes::Frames;
using fakes::StandingBench;

packet::ProbeHeader header_of(const Frame& frame) {
  const auto packet = packet::decode_probe_frame(frame);
  return packet ? packet->header : packet::ProbeHeader{};
}

struct Ways {
  double sent = 0;
  std::map<LostWay, double> lost;
  double settled = 0;
};

Ways ways_of(const std::vector<Window>& windows) {
  Ways ways;
  for (const Window& window : windows)
    for (const NicWindow& nic : window.nics) {
      ways.sent += nic.count;
      for (const LostProbe& lost : nic.lost) ++ways.lost[lost.way];
      for (const SettledProbe& settled : nic.settled) {
        ++ways.lost[settled.way];
        --ways.lost[LostWay::open];
        ++ways.settled;
      }
    }
  return ways;
}

/// Drops probes of this number's stream and sequence, on their way out or of their echoes on their way back.
std::function<Frames(Frame)> dropping(std::function<bool(const packet::ProbeHeader&)> drops) {
  return [drops](Frame frame) { return drops(header_of(frame)) ? Frames{} : Frames{std::move(frame)}; };
}

TEST(StandingProberTest, AHealthyWireLosesNothingAndAWindowIsASecond) {
  StandingBench bench;
  bench.run_for(7s);
  ASSERT_GE(bench.told.size(), 3u);
  std::uint64_t next = bench.told[0].nics.at(0).first;
  for (const Window& window : bench.told) {
    EXPECT_EQ(window.nics.at(0).first, next);
    next += window.nics[0].count;
    EXPECT_NEAR(window.nics[0].count, 500, 15);
    EXPECT_NEAR(std::chrono::duration<double>(window.length).count(), 1.0, 0.03);
    EXPECT_TRUE(window.nics[0].lost.empty());
    EXPECT_TRUE(window.nics[0].settled.empty());
    EXPECT_FALSE(window.stalled);
  }
}

TEST(StandingProberTest, NumbersSayStreamAndTime) {
  StandingBench bench({.streams = 7, .burst = 5});
  bench.run_for(2s);
  std::uint64_t number = 0;
  for (const Frame& frame : bench.wire.sent()) {
    const auto header = header_of(frame);
    ASSERT_EQ(header.spec, number % 7);
    ASSERT_EQ(header.sequence, number / 7);
    const auto due = 1000s + Nanoseconds(number / 5 * 5 * 2'000'000);
    ASSERT_GE(header.sent_at, due);
    ASSERT_LE(header.sent_at, due + 6ms);
    ++number;
  }
}

TEST(StandingProberTest, LossThereIsToldFromLossBack) {
  for (const auto way : {LostWay::there, LostWay::back}) {
    StandingBench bench;
    bench.run_for(2500ms);
    double dropped = 0;
    const auto drop = dropping([&](const auto& header) {
      const bool drops = header.spec == 3 && header.sequence % 10 == 4;
      dropped += drops ? 1 : 0;
      return drops;
    });
    (way == LostWay::there ? bench.wire.outward : bench.wire.homeward) = drop;
    bench.run_for(8s);
    const auto ways = ways_of(bench.told);
    EXPECT_GT(dropped, 30);
    EXPECT_GE(ways.lost.at(way), dropped - 10);
    EXPECT_LE(ways.lost.at(way), dropped);
    for (const auto& [other, count] : ways.lost)
      EXPECT_LE(count, other == way ? dropped : 2) << static_cast<int>(other);
  }
}

TEST(StandingProberTest, LossOnBothWaysIsCountedOnBoth) {
  StandingBench bench;
  bench.run_for(2500ms);
  bench.wire.outward = dropping([&](const auto& h) { return h.sequence % 10 == 2; });
  bench.wire.homeward = dropping([&](const auto& h) { return h.sequence % 10 == 3; });
  bench.run_for(10s);
  const auto ways = ways_of(bench.told);
  EXPECT_NEAR(ways.lost.at(LostWay::there), 470, 40);
  EXPECT_NEAR(ways.lost.at(LostWay::back), 470, 40);
}

TEST(StandingProberTest, WithoutAnyEchoTheWayStaysOpen) {
  StandingBench bench;
  bench.wire.outward = [](Frame) { return Frames{}; };
  bench.run_for(6s);
  const auto ways = ways_of(bench.told);
  EXPECT_GT(ways.sent, 1000u);
  EXPECT_EQ(ways.lost.at(LostWay::open), ways.sent);
}

TEST(StandingProberTest, AnEchoAfterAnOutageSettlesItsLosses) {
  for (const bool there : {true, false}) {
    StandingBench bench;
    bench.run_for(2500ms);
    (there ? bench.wire.outward : bench.wire.homeward) = [](Frame) { return Frames{}; };
    bench.run_for(3s);
    const auto open = ways_of(bench.told).lost[LostWay::open];
    EXPECT_GT(open, 800u);
    (there ? bench.wire.outward : bench.wire.homeward) = [](Frame frame) { return Frames{std::move(frame)}; };
    bench.run_for(3s);
    const auto ways = ways_of(bench.told);
    EXPECT_GE(ways.settled, open);
    EXPECT_EQ(ways.lost.at(LostWay::open), 0u);
    EXPECT_NEAR(ways.lost.at(there ? LostWay::there : LostWay::back), 1500, 30);
  }
}

TEST(StandingProberTest, LossesInARowEndAWindowEarly) {
  StandingBench bench({.streams = 50});
  bench.run_for(3s);
  bench.told.clear();
  bench.run_for(50ms);
  bench.wire.outward = dropping([&](const auto& header) { return header.spec % 5 == 0; });
  const auto fault = bench.wire.now();
  std::optional<Nanoseconds> named;
  while (!named && bench.wire.now() < fault + 3s) {
    bench.run_for(10ms);
    for (const Window& window : bench.told)
      for (const NicWindow& nic : window.nics)
        if (nic.lost.size() >= 15) named = bench.wire.now() - fault;
  }
  ASSERT_TRUE(named);
  EXPECT_LE(*named, 650ms);
}

TEST(StandingProberTest, APathThatStaysDeadDoesNotMultiplyWindows) {
  StandingBench bench({.streams = 50});
  bench.run_for(3s);
  bench.wire.outward = dropping([&](const auto& header) { return header.spec % 5 == 0; });
  bench.run_for(10s);
  EXPECT_LE(bench.told.size(), 15u);
}

TEST(StandingProberTest, ReorderedProbesAreNoLossAndHideNone) {
  StandingBench bench({.streams = 1, .rate = 200, .burst = 1});
  bench.run_for(2500ms);
  std::optional<Frame> held;
  // 6 is lost; 5 and 7 change places.
  bench.wire.outward = [&](Frame frame) {
    const auto sequence = header_of(frame).sequence % 10;
    if (sequence == 6) return Frames{};
    if (sequence == 5) held = std::move(frame);
    if (sequence == 5) return Frames{};
    Frames both{std::move(frame)};
    if (sequence == 7) both.push_back(std::move(*held));
    return both;
  };
  bench.run_for(10s);
  const auto ways = ways_of(bench.told);
  EXPECT_NEAR(ways.lost.at(LostWay::there), 180, 20);
  EXPECT_EQ(ways.lost.count(LostWay::back), 0u);
}

TEST(StandingProberTest, DuplicatesCountOnce) {
  StandingBench bench;
  bench.wire.outward = [](Frame frame) { return Frames{frame, frame}; };
  bench.wire.homeward = [](Frame frame) { return Frames{frame, frame}; };
  bench.run_for(2500ms);
  bench.wire.homeward = dropping([](const auto& h) { return h.sequence % 10 == 4; });
  bench.run_for(5s);
  const auto ways = ways_of(bench.told);
  EXPECT_NEAR(ways.lost.at(LostWay::back), 200, 30);
  EXPECT_EQ(ways.lost.count(LostWay::there), 0u);
}

TEST(StandingProberTest, APeerThatBeginsAnewIsNoLoss) {
  StandingBench bench;
  bench.run_for(4s);
  bench.restart_peer(2);
  bench.run_for(4s);
  EXPECT_TRUE(ways_of(bench.told).lost.empty());
}

TEST(StandingProberTest, LossesWhileAPeerBeginsAnewStayOpen) {
  StandingBench bench;
  bench.run_for(2500ms);
  bench.responder.reset();
  bench.run_for(2s);
  bench.restart_peer(2);
  bench.run_for(4s);
  const auto ways = ways_of(bench.told);
  EXPECT_NEAR(ways.lost.at(LostWay::open), 1000, 30);
  EXPECT_EQ(ways.lost.count(LostWay::there) + ways.lost.count(LostWay::back), 0u);
}

TEST(StandingProberTest, AForgedEchoAnswersNothing) {
  StandingBench bench;
  bench.run_for(2500ms);
  const auto right_key = bench.assignment.epochs[0].pairs.at(0);
  auto other_key = right_key;
  other_key[0] ^= std::byte{1};
  std::uint64_t forged = 0;
  // The probe vanishes; a stranger who saw it answers with another key, and a participant from elsewhere.
  bench.wire.outward = [&](Frame frame) {
    auto header = header_of(frame);
    if (header.sequence % 10 != 0) return Frames{std::move(frame)};
    header.kind = packet::ProbeKind::echo;
    const auto& nic = bench.wire.nic();
    const auto forge = [&](const IpAddress& from, const packet::RunKey& key) {
      Frame made(packet::kEthernetSize + 128);
      encode_probe_frame({.from_mac = bench.wire.peer_nic().mac,
                          .to_mac = nic.mac,
                          .from = from,
                          .to = nic.address,
                          .label = UdpPort(51'000)},
                         header, key, 128, made);
      bench.wire.inject(std::move(made), 1ms);
    };
    forge(bench.wire.peer_nic().address, other_key);
    forge(bench.wire.router(1), right_key);
    ++forged;
    return Frames{};
  };
  bench.run_for(4s);
  const auto ways = ways_of(bench.told);
  EXPECT_GT(forged, 150u);
  EXPECT_GE(ways.lost.at(LostWay::there), 120u);
}

TEST(StandingProberTest, CountsWrap) {
  StandingBench bench({.streams = 1, .rate = 4'000, .burst = 40});
  bench.run_for(2500ms);
  bench.wire.homeward = dropping([](const auto& h) { return h.sequence % 1000 == 7; });
  bench.run_for(25s);  // 100,000 probes of one stream
  const auto ways = ways_of(bench.told);
  EXPECT_NEAR(ways.lost.at(LostWay::back), 90, 15);
  EXPECT_EQ(ways.lost.count(LostWay::there), 0u);
}

TEST(StandingProberTest, AStreamOfOneProbeASecondIsJudgedToo) {
  StandingBench bench({.streams = 500});
  bench.run_for(2500ms);
  bench.wire.outward = dropping([](const auto& h) { return h.spec == 9 && h.sequence % 4 == 1; });
  bench.run_for(20s);
  const auto ways = ways_of(bench.told);
  EXPECT_NEAR(ways.lost.at(LostWay::there), 4, 1);
}

TEST(StandingProberTest, WhatTheInterfaceDoesNotTakeIsLostOnTheWayThere) {
  StandingBench bench;
  bench.run_for(3s);
  bench.wire.down = true;
  bench.run_for(2s);
  bench.wire.down = false;
  bench.run_for(3s);
  const auto ways = ways_of(bench.told);
  EXPECT_NEAR(ways.lost.at(LostWay::there), 950, 60);
  EXPECT_EQ(ways.lost.count(LostWay::back), 0u);
}

TEST(StandingProberTest, AQueueThatIsFullForAMomentLosesNothing) {
  StandingBench bench;
  bench.run_for(3s);
  for (int i = 0; i < 20; ++i) {
    bench.wire.queue_room = 0;
    bench.run_for(50ms);
    bench.wire.queue_room = SIZE_MAX;
    bench.run_for(50ms);
  }
  EXPECT_TRUE(ways_of(bench.told).lost.empty());
}

TEST(StandingProberTest, APeerWithoutANextHopIsLostOnTheWayThere) {
  StandingBench bench;
  bench.wire.reachable = false;
  bench.run_for(6s);
  const auto ways = ways_of(bench.told);
  EXPECT_GT(ways.sent, 1000u);
  EXPECT_EQ(ways.lost.at(LostWay::there), ways.sent);
}

TEST(StandingProberTest, AfterAStallNothingIsSentAtOnceAndNothingIsLost) {
  StandingBench bench;
  bench.run_for(3s);
  bench.wire.let_pass(5s);
  const auto before = bench.wire.sent().size();
  bench.run_for(100ms);
  EXPECT_LE(bench.wire.sent().size() - before, 70u);
  bench.run_for(3s);
  EXPECT_TRUE(ways_of(bench.told).lost.empty());
}

TEST(StandingProberTest, EchoesThatWaitUnreadWhileTheThreadIsNotScheduledAreNoLosses) {
  StandingBench bench;
  bench.run_for(3s);
  for (int i = 0; i < 120; ++i) {
    bench.look();
    bench.wire.let_pass(300ms);
    bench.run_for(Nanoseconds(90ms) + i * Nanoseconds(7ms));
  }
  EXPECT_TRUE(ways_of(bench.told).lost.empty());
}

TEST(StandingProberTest, AProbeThatLeftLateIsWaitedForFromThenOn) {
  StandingBench bench;
  bench.run_for(3s);
  for (int i = 0; i < 40; ++i) {
    bench.preempted = 230ms;
    bench.look();
    bench.run_for(100ms);
  }
  EXPECT_TRUE(ways_of(bench.told).lost.empty());
}

TEST(StandingProberTest, TheWindowsInWhichTheHostDidNotRunAreStalledAndNoOthers) {
  StandingBench bench;
  bench.run_for(4s);
  bench.told.clear();
  // The second at hand is over, and its answers are waited for: the stall is in the next one.
  while (bench.told.empty()) bench.run_for(5ms);
  bench.run_for(800ms + 100ms);
  const auto from = bench.wire.now();
  bench.wire.let_pass(400ms);
  bench.windows.stalled(from, bench.wire.now());
  bench.run_for(4s);
  const Nanoseconds start = std::chrono::seconds(1000);  // of the bench's clock
  std::size_t stalled = 0;
  for (const Window& window : bench.told) {
    const auto begin = start + window.begin, end = begin + window.length;
    EXPECT_EQ(window.stalled, begin <= from + 400ms && end >= from) << window.number;
    stalled += window.stalled ? 1 : 0;
  }
  EXPECT_EQ(stalled, 1u);
  EXPECT_TRUE(ways_of(bench.told).lost.empty());
}

TEST(StandingProberTest, DelaysOfEveryStreamAreToldInTenWindows) {
  StandingBench bench;
  bench.run_for(14s);
  std::set<std::uint32_t> streams;
  std::uint64_t count = 0;
  for (const Window& window : bench.told)
    for (const StreamDelays& delays : window.nics.at(0).delays) {
      streams.insert(delays.stream);
      count += delays.rtt.count();
      EXPECT_NEAR(static_cast<double>(delays.rtt.quantile(0.5)->count()), 60'000,
                  20'000);  // six hops of 10 us
    }
  EXPECT_EQ(streams.size(), 10u);
  EXPECT_GT(count, 2000u);
}

TEST(StandingProberTest, WhatTheHostDroppedIsSaid) {
  StandingBench bench;
  bench.run_for(3s);
  bench.told.clear();
  bench.wire.unread = 7;
  bench.wire.homeward = dropping([](const auto& h) { return h.sequence % 10 == 0; });
  bench.run_for(2s);
  EXPECT_EQ(bench.told.at(0).nics.at(0).dropped, 7u);
  bench.run_for(2s);
  EXPECT_EQ(bench.told.at(2).nics.at(0).dropped, 0u) << "of the window before its own, at most";
}

TEST(StandingProberTest, WhatTheHostDroppedIsSaidAlsoWhereItsOwnProbesLostNothing) {
  StandingBench bench;
  bench.run_for(3s);
  bench.told.clear();
  bench.wire.unread = 7;  // probes of others
  bench.run_for(3s);
  EXPECT_EQ(bench.told.at(0).nics.at(0).dropped, 7u);
  EXPECT_EQ(bench.told.at(1).nics.at(0).dropped, 0u);
}

TEST(StandingProberTest, AStallBesideAChangeOfPlanIsToldByTheLastWindowOfTheOldOrTheFirstOfTheNew) {
  fakes::StandingBench bench;
  bench.windows.stalled(bench.wire.now() + 300ms, bench.wire.now() + 900ms);
  bench.run_for(2100ms);
  ASSERT_EQ(bench.told.size(), 1u) << "of the time in which peers may not have the plan yet";
  EXPECT_TRUE(bench.told[0].stalled);
  EXPECT_GT(bench.told[0].length, 1500ms);
  const auto from = bench.wire.now();
  bench.wire.let_pass(1s);
  bench.windows.stalled(from, bench.wire.now());
  const auto last = bench.windows.last({{0, &bench.nic}}, from, [](std::uint32_t) { return 0; });
  ASSERT_TRUE(last);
  EXPECT_TRUE(last->stalled);
  EXPECT_GE(last->begin + last->length, bench.told[0].begin + bench.told[0].length + 1s) << "to its end";
}

TEST(StandingProberTest, ANicThatRefusesToSendStallsNoOtherOfItsHost) {
  fakes::StandingBench bench;
  bench.run_for(3s);
  const auto at = bench.wire.now();
  bench.windows.refused(0, at, at + 10ms);
  bench.run_for(3s);
  std::size_t refused = 0;
  for (const Window& window : bench.told) {
    EXPECT_FALSE(window.stalled);
    refused += window.nics.at(0).dropped > 0 ? 1 : 0;
  }
  EXPECT_EQ(refused, 1u) << "its own part of the window alone says nothing";
}

TEST(StandingProberTest, AnAgentThatBeginsAnewIsAnsweredFromTheStart) {
  StandingBench bench;
  bench.run_for(4s);
  StandingBench again({.boot = 78});
  again.responder.reset();
  again.wire.far_end = [&](ByteSpan frame, Nanoseconds at, Nanoseconds now, MutableByteSpan reply) {
    const auto probe = bench.peer_keys.read(frame, bench.wire.peer_nic().address, roce_codec());
    return probe ? bench.responder->take(*probe, at, now, reply) : 0;
  };
  again.run_for(5s);
  EXPECT_GT(ways_of(again.told).sent, 500u);
  EXPECT_TRUE(ways_of(again.told).lost.empty());
}

}  // namespace
}  // namespace weft::watch
