#include "probes/watch/stream_tracer.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "tests/support/standing_bench.hpp"

namespace weft::watch {
namespace {

using namespace std::chrono_literals;
using fakes::Frame;
using fakes::Frames;
using fakes::StandingBench;
using testing::Each;
using testing::IsEmpty;
using testing::SizeIs;

std::map<std::uint32_t, std::vector<IpAddress>> answers_in(const std::vector<Window>& windows) {
  std::map<std::uint32_t, std::vector<IpAddress>> all;
  for (const Window& window : windows)
    for (const TracedHop& hop : window.nics.at(0).traced) all[hop.stream].push_back(hop.from);
  return all;
}

bool is_trace(const Frame& frame) {
  const auto packet = packet::decode_probe_frame(frame);
  return packet && packet->header.kind == packet::ProbeKind::flow;
}

TEST(StreamTracer, AsksOneStreamASecondInTurnAndTellsWhoAnswered) {
  for (const bool v6 : {false, true}) {
    StandingBench bench({.streams = 5, .v6 = v6, .trace_hop = 2});
    bench.run_for(15s);
    EXPECT_EQ(std::ranges::count_if(bench.wire.sent(), is_trace), 15);
    const auto answers = answers_in(bench.told);
    EXPECT_THAT(answers, SizeIs(5));
    for (const auto& [stream, from] : answers) EXPECT_THAT(from, Each(bench.wire.router(2))) << stream;
    for (const Window& window : bench.told) EXPECT_THAT(window.nics.at(0).lost, IsEmpty());
  }
}

TEST(StreamTracer, IsKnownByItsIdentificationWhereARouterQuotesLittle) {
  StandingBench bench({.streams = 5, .trace_hop = 1});
  bench.wire.quote = packet::kIpv4Size + 8;
  bench.run_for(15s);
  EXPECT_THAT(answers_in(bench.told), SizeIs(5));
}

TEST(StreamTracer, ARouterThatKnowsNoWayOnIsTold) {
  StandingBench bench({.streams = 5, .trace_hop = 2});
  bench.wire.dead_end = 1;
  bench.run_for(10s);
  const auto answers = answers_in(bench.told);
  EXPECT_THAT(answers, SizeIs(5));
  for (const auto& [stream, from] : answers) EXPECT_THAT(from, Each(bench.wire.router(1)));
}

TEST(StreamTracer, SilentRoutersAndRoutesThatAreShorterSayNothingAndLoseNothing) {
  for (const std::uint8_t hop : {std::uint8_t{2}, std::uint8_t{3}}) {
    StandingBench bench({.streams = 5, .trace_hop = hop});
    bench.wire.silent_hops = {2};
    bench.run_for(10s);
    EXPECT_THAT(answers_in(bench.told), IsEmpty());
    for (const Window& window : bench.told) EXPECT_THAT(window.nics.at(0).lost, IsEmpty());
  }
}

TEST(StreamTracer, WithoutAHopNothingIsTracedAndWindowsAreThoseOfBefore) {
  StandingBench bench;
  bench.run_for(5s);
  EXPECT_EQ(std::ranges::count_if(bench.wire.sent(), is_trace), 0);
  EXPECT_EQ(encode_window(bench.told.at(0))[0], std::byte{1});
}

/// Answers that were not made for a trace of this NIC.
TEST(StreamTracer, ForgedLateAndDamagedAnswersSayNothing) {
  const std::map<const char*, std::function<Frames(Frame)>> wrongs{
      {"damaged",
       [](Frame frame) {
         const auto ip = packet::decode_ip(ByteSpan(frame).subspan(packet::kEthernetSize));
         if (ip && ip->protocol == packet::kProtocolIcmp) frame[frame.size() / 2] ^= std::byte{1};
         return Frames{std::move(frame)};
       }},
      {"cut", [](Frame frame) {
         const auto ip = packet::decode_ip(ByteSpan(frame).subspan(packet::kEthernetSize));
         if (ip && ip->protocol == packet::kProtocolIcmp) frame.resize(packet::kEthernetSize + 30);
         return Frames{std::move(frame)};
       }}};
  for (const auto& [what, wrong] : wrongs) {
    StandingBench bench({.streams = 5, .trace_hop = 2});
    bench.wire.homeward = wrong;
    bench.run_for(8s);
    EXPECT_THAT(answers_in(bench.told), IsEmpty()) << what;
  }
  StandingBench late({.streams = 5, .trace_hop = 2});
  late.wire.hop_time = 600ms;
  late.run_for(12s);
  EXPECT_THAT(answers_in(late.told), IsEmpty());
}

TEST(StreamTracer, AnAnswerThatComesTwiceIsToldOnceAndWhatWasMissedIsNotSentLater) {
  StandingBench bench({.streams = 5, .trace_hop = 2});
  bench.wire.homeward = [](Frame frame) { return Frames{frame, frame}; };
  bench.run_for(8s);
  std::size_t told = 0;
  for (const auto& [stream, from] : answers_in(bench.told)) told += from.size();
  const auto before = std::ranges::count_if(bench.wire.sent(), is_trace);
  EXPECT_GE(told, 4u);
  EXPECT_LE(told, static_cast<std::size_t>(before));
  bench.wire.let_pass(60s);
  bench.run_for(3s);
  EXPECT_GE(std::ranges::count_if(bench.wire.sent(), is_trace), before + 2);
  EXPECT_LE(std::ranges::count_if(bench.wire.sent(), is_trace), before + 4);
}

}  // namespace
}  // namespace weft::watch
