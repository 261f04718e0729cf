#include "probes/datapath/prober.hpp"

#include <gtest/gtest.h>

#include "tests/fakes/fake_wire.hpp"

namespace weft::datapath {
namespace {

using fakes::FakeWire;
using fakes::Frame;
using fakes::Frames;
using std::chrono::microseconds;

const packet::RunSecrets kSecrets{.run = RunId(7), .key = {std::byte{9}}};

struct Bench {
  explicit Bench(bool v6) : wire(kSecrets, v6, 3), prober(wire, wire, wire.nic(), kSecrets, PortId(1)) {}
  Peer peer() const { return {PortId(2), wire.peer_nic().address}; }
  TraceRequest trace(std::uint32_t labels = 1) const {
    TraceRequest request{.run = kSecrets.run, .batch = BatchId(5), .peers = {peer()}};
    for (std::uint32_t i = 0; i < labels; ++i) request.specs.push_back({.label = PathLabel(50000 + i)});
    return request;
  }
  PingRequest ping(std::uint32_t count, Bytes size = Bytes(128)) const {
    return {
        .run = kSecrets.run,
        .batch = BatchId(6),
        .peers = {peer()},
        .specs = {{.label = PathLabel(50001), .back_label = PathLabel(50002), .count = count, .size = size}},
        .pace = {.packets_per_second = 10'000}};
  }

  FakeWire wire;
  Prober prober;
};

class ProberTest : public ::testing::TestWithParam<bool> {
 protected:
  Bench bench{GetParam()};
  FakeWire& wire = bench.wire;
  Prober& prober = bench.prober;
};
INSTANTIATE_TEST_SUITE_P(Families, ProberTest, ::testing::Values(false, true),
                         [](const auto& family) { return family.param ? "IPv6" : "IPv4"; });

std::vector<std::vector<int>> hops_by_spec(const std::vector<HopAnswer>& answers, std::size_t specs) {
  std::vector<std::vector<int>> hops(specs);
  for (const auto& answer : answers) hops[answer.spec].push_back(answer.hop);
  return hops;
}

TEST_P(ProberTest, ATraceFindsEveryHopItsTimeAndThePeer) {
  const auto answers = prober.trace(bench.trace(2), {});
  ASSERT_TRUE(answers) << answers.error().message;
  ASSERT_EQ(answers->size(), 8u);
  for (int i = 0; i < 3; ++i) {
    const auto& hop = (*answers)[static_cast<std::size_t>(4 + i)];
    EXPECT_EQ(hop.spec, 1u);
    EXPECT_EQ(hop.hop, i + 1);
    EXPECT_EQ(hop.from, wire.router(i + 1));
    EXPECT_FALSE(hop.is_peer);
    EXPECT_NEAR(static_cast<double>(hop.rtt.count()), 20e3 * (i + 1), 1e3);
  }
  const auto& last = answers->back();
  EXPECT_TRUE(last.is_peer);
  EXPECT_EQ(last.from, wire.peer_nic().address);
  EXPECT_NEAR(static_cast<double>(last.rtt.count()), 80e3, 1e3) << "without the 50 us that the peer took";
}

TEST_P(ProberTest, ATraceSendsTheFieldsThatItsSpecNames) {
  auto request = bench.trace(2);
  request.specs[1].fields = {.queue_pair = QpNum(0x123456),
                             .traffic_class = std::uint8_t{0x68},
                             .flow_label = GetParam() ? std::optional(0xABCDEU) : std::nullopt,
                             .size = Bytes(512)};
  for (TraceSpec& spec : request.specs) spec.max_hops = 3, spec.to_peer = false;
  const auto answers = prober.trace(request, {});
  ASSERT_TRUE(answers) << answers.error().message;
  EXPECT_EQ(answers->size(), 6u);
  ASSERT_EQ(wire.sent().size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    const ByteSpan frame(wire.sent()[i]);
    const auto packet = packet::decode_probe_frame(frame, kSecrets.key);
    ASSERT_TRUE(packet);
    EXPECT_TRUE(packet->intact && packet->authentic);
    EXPECT_EQ(packet->label, UdpPort(static_cast<std::uint16_t>(50000 + i / 3)));
    const auto ip = frame.subspan(packet::kEthernetSize);
    const auto bth = packet::decode_bth(ip.subspan(packet::ip_header_size(GetParam()) + packet::kUdpSize));
    ASSERT_TRUE(bth);
    EXPECT_EQ(bth->destination, i < 3 ? packet::kProbeQueuePair : QpNum(0x123456));
    const auto first = load_be32(ip, 0);
    EXPECT_EQ(GetParam() ? first >> 20 & 0xFF : first >> 16 & 0xFF, i < 3 ? 0u : 0x68u);
    EXPECT_EQ(GetParam() ? first & 0xFFFFF : 0, i < 3 || !GetParam() ? 0u : 0xABCDEu);
    EXPECT_EQ(packet->ip.bytes.size(), i < 3 ? packet::min_probe_size(GetParam()) : 512u);
  }
  request.specs[1].fields.queue_pair = QpNum(0x1000000);
  EXPECT_EQ(prober.trace(request, {}).error().kind, ErrorKind::usage);
  request.specs[1].fields = {.flow_label = 0x100000};
  EXPECT_EQ(prober.trace(request, {}).error().kind, ErrorKind::usage);
}

TEST_P(ProberTest, APingTellsWhenItsPacketsWentAndWhichWereNotAnswered) {
  wire.unread = 7;  // from before
  int number = 0;
  wire.outward = [&](Frame frame) {
    const int packet = number++;
    return packet >= 10 && packet < 13 ? Frames{} : Frames{frame};
  };
  int echoes = 0;
  wire.homeward = [&](Frame frame) {
    if (++echoes != 20) return Frames{frame};
    wire.unread = 1;
    return Frames{};
  };
  const auto tally = (*prober.ping(bench.ping(50), {}))[0];
  EXPECT_EQ(tally.unanswered, (std::vector<LossRun>{{10, 3}, {22, 1}}));
  EXPECT_NEAR(static_cast<double>(tally.window->length.count()), 49 * 100e3, 1e3) << "10,000 a second";
  EXPECT_EQ(tally.dropped, 1u);
  const auto received = wire.responder().received(BatchId(6));
  EXPECT_EQ(received.at(0).missing, (std::vector<LossRun>{{10, 3}}));
}

TEST_P(ProberTest, ASilentHopIsLeftOutAndAskedAgainWithoutEnd) {
  wire.silent_hops = {2};
  const auto answers = prober.trace(bench.trace(), {});
  ASSERT_TRUE(answers);
  EXPECT_EQ(hops_by_spec(*answers, 1)[0], (std::vector{1, 3, 4}));
  const auto asked = std::count_if(wire.sent().begin(), wire.sent().end(), [](const Frame& frame) {
    return packet::decode_ip(ByteSpan(frame).subspan(packet::kEthernetSize))->hop_limit == 2;
  });
  EXPECT_EQ(asked, 2);
}

TEST_P(ProberTest, AHopThatLostItsFirstAnswerGivesTheTimeOfTheSecond) {
  int answers_seen = 0;
  wire.homeward = [&](Frame frame) { return ++answers_seen == 1 ? Frames{} : Frames{frame}; };
  const auto answers = prober.trace(bench.trace(), {});
  ASSERT_TRUE(answers);
  EXPECT_EQ(hops_by_spec(*answers, 1)[0], (std::vector{1, 2, 3, 4}));
  EXPECT_LT((*answers)[0].rtt, microseconds(50));
}

TEST_P(ProberTest, WithoutAPeerATraceStillNamesTheSwitches) {
  wire.outward = [&](Frame frame) {
    const bool to_peer = packet::decode_ip(ByteSpan(frame).subspan(packet::kEthernetSize))->hop_limit > 3;
    return to_peer ? Frames{} : Frames{frame};
  };
  const auto answers = prober.trace(bench.trace(), {});
  ASSERT_TRUE(answers);
  EXPECT_EQ(hops_by_spec(*answers, 1)[0], (std::vector{1, 2, 3}));
}

TEST_P(ProberTest, ARouterThatKnowsNoWayOnNamesItselfForEveryHopFromThere) {
  wire.dead_end = 2;
  const auto answers = prober.trace(bench.trace(), {});
  ASSERT_TRUE(answers);
  EXPECT_EQ(hops_by_spec(*answers, 1)[0], (std::vector{1, 2, 3, 4, 5}));
  for (std::size_t i = 1; i < 5; ++i) {
    EXPECT_EQ((*answers)[i].from, wire.router(2));
    EXPECT_FALSE((*answers)[i].is_peer);
  }
  EXPECT_EQ((*prober.ping(bench.ping(5), {}))[0].answered, 0u);
}

TEST_P(ProberTest, ARefusalForOtherReasonsNamesNoHop) {
  wire.dead_end = 2;
  wire.dead_end_code = GetParam() ? 1 : 13;  // administratively prohibited
  const auto answers = prober.trace(bench.trace(), {});
  ASSERT_TRUE(answers);
  EXPECT_EQ(hops_by_spec(*answers, 1)[0], (std::vector{1}));
}

TEST_P(ProberTest, ATraceThatIsAnsweredDoesNotWait) {
  const auto start = wire.now();
  auto request = bench.trace(64);
  request.pace.packets_per_second = 0;
  ASSERT_EQ(prober.trace(request, {})->size(), 256u);
  EXPECT_LT(wire.now() - start, microseconds(2000));
}

TEST_P(ProberTest, APingCountsWhatCameBackOnce) {
  wire.homeward = [](Frame frame) { return Frames{frame, frame, frame}; };  // a fabric that doubles
  const auto tallies = prober.ping(bench.ping(100), {});
  ASSERT_TRUE(tallies);
  ASSERT_EQ(tallies->size(), 1u);
  EXPECT_EQ((*tallies)[0].sent, 100u);
  EXPECT_EQ((*tallies)[0].answered, 100u);
  ASSERT_TRUE((*tallies)[0].rtt);
  EXPECT_NEAR(static_cast<double>((*tallies)[0].rtt->p50.count()), 80e3, 1e3);
}

TEST_P(ProberTest, EchoesOfALatePeerAreWaitedForAsLongAsTheyCome) {
  Nanoseconds late{};
  wire.homeward = [&](Frame frame) {
    wire.inject(std::move(frame), late += std::chrono::milliseconds(150));
    return Frames{};
  };
  const auto tallies = prober.ping(bench.ping(10), {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[0].answered, 10u);
}

TEST_P(ProberTest, EchoesWithoutEndDoNotKeepIt) {
  wire.homeward = [&](Frame frame) {
    for (int i = 1; i < 200; ++i) wire.inject(frame, std::chrono::milliseconds(100) * i);
    return Frames{};
  };
  auto request = bench.ping(2);
  request.specs[0].count = 1;
  request.specs.push_back(request.specs[0]);
  int sent = 0;
  wire.outward = [&](Frame frame) { return sent++ == 0 ? Frames{std::move(frame)} : Frames{}; };
  const auto began = wire.now();
  ASSERT_TRUE(prober.ping(request, {}));
  EXPECT_LT(wire.now() - began, std::chrono::seconds(3));
}

/// A wire whose host does not let the prober run for a second behind its tenth probe.
class StalledWire : public FakeWire {
 public:
  using FakeWire::FakeWire;
  Result<std::span<const Arrival>> receive(Nanoseconds until) override {
    auto came = FakeWire::receive(until);
    if (sent().size() == 10 && !std::exchange(stalled_, true)) let_pass(std::chrono::seconds(1));
    return came;
  }

 private:
  bool stalled_ = false;
};

TEST(Prober, WhatCameWhileItsHostWasLateIsNoLoss) {
  StalledWire wire(kSecrets, false, 3);
  Prober prober(wire, wire, wire.nic(), kSecrets, PortId(1));
  wire.hop_time = std::chrono::milliseconds(20);
  const auto tallies = prober.ping(Bench(false).ping(10), {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[0].answered, 10u);
}

TEST_P(ProberTest, ALostEchoIsNotAnsweredAndNotSentAgain) {
  int echoes = 0;
  wire.homeward = [&](Frame frame) { return ++echoes % 4 == 0 ? Frames{} : Frames{frame}; };
  const auto tallies = prober.ping(bench.ping(100), {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[0].sent, 100u);
  EXPECT_EQ((*tallies)[0].answered, 75u);
  EXPECT_EQ(wire.sent().size(), 100u);
  EXPECT_EQ(wire.responder().received(BatchId(6)).at(0).packets, 100u);
}

/// From its 41st probe on the peer is not run until `length` later.
template <class Count>
void stall_from_the_41st(FakeWire& wire, Nanoseconds length, Count& number) {
  wire.outward = [&wire, &number, length, until = Nanoseconds(0)](Frame frame) mutable {
    if (++number == 41) until = wire.now() + length;
    if (number >= 41) wire.peer_busy = until - wire.now();
    return Frames{std::move(frame)};
  };
}

TEST_P(ProberTest, APeerThatFellSilentIsWaitedForAsOneThatIsNotRun) {
  int number = 0;
  stall_from_the_41st(wire, std::chrono::seconds(1), number);
  const auto tally = (*prober.ping(bench.ping(50), {}))[0];
  EXPECT_EQ(tally.answered, 50u);
  EXPECT_EQ(tally.late, 10u);
  EXPECT_LT(tally.rtt->p99, std::chrono::milliseconds(1)) << "it says itself how long it held them";
  EXPECT_EQ(wire.responder().received(BatchId(6)).at(0).late, 10u);
}

TEST_P(ProberTest, EchoesThatLeaveLaterThanThatAreUnansweredAndTheirSenderSaysHowMany) {
  int number = 0;
  stall_from_the_41st(wire, std::chrono::seconds(3), number);
  const auto before = wire.now();
  const auto tally = (*prober.ping(bench.ping(50), {}))[0];
  EXPECT_EQ(tally.answered, 40u);
  EXPECT_EQ(tally.late, 0u);
  EXPECT_LT(wire.now() - before, std::chrono::milliseconds(2'300));
  EXPECT_EQ(wire.responder().received(BatchId(6)).at(0).late, 10u);
}

TEST_P(ProberTest, APeerThatLostItsLastFewProbesOrNeverAnsweredIsNotWaitedForLonger) {
  for (const int last : {46, 0}) {
    int number = 0;
    wire.outward = [&](Frame frame) { return number++ >= last ? Frames{} : Frames{std::move(frame)}; };
    const auto before = wire.now();
    EXPECT_EQ((*prober.ping(bench.ping(50), {}))[0].answered, static_cast<std::uint32_t>(last));
    EXPECT_LT(wire.now() - before, std::chrono::milliseconds(300));
  }
}

TEST_P(ProberTest, AnEchoWithAWrongIcrcIsCorruptAndNotAnswered) {
  int echoes = 0;
  wire.homeward = [&](Frame frame) {
    if (++echoes == 3) frame[frame.size() - 6] ^= std::byte{1};  // in the padding
    return Frames{frame};
  };
  const auto tallies = prober.ping(bench.ping(10, Bytes(256)), {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[0].corrupt, 1u);
  EXPECT_EQ((*tallies)[0].answered, 9u);
}

TEST_P(ProberTest, ForgedAndTruncatedAnswersSayNothing) {
  int echoes = 0;
  wire.homeward = [&](Frame frame) {
    ++echoes;
    const auto payload = packet::kEthernetSize + packet::probe_payload_offset(GetParam());
    if (echoes % 3 == 0)
      frame[payload + 31] ^= std::byte{1};  // another sequence number, no key to sign it with
    if (echoes % 3 == 1) frame.resize(frame.size() - 20);
    return Frames{frame};
  };
  const auto tallies = prober.ping(bench.ping(90), {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[0].answered, 30u);
  EXPECT_EQ((*tallies)[0].corrupt, 0u);
}

TEST_P(ProberTest, AnswersOfAnEarlierBatchAreNotTakenForThisOne) {
  Frames recorded;
  wire.homeward = [&](Frame frame) {
    recorded.push_back(frame);
    return Frames{frame};
  };
  ASSERT_TRUE(prober.ping(bench.ping(50), {}));
  for (const auto& frame : recorded) wire.inject(frame, microseconds(100));
  wire.homeward = [](Frame) { return Frames{}; };
  auto next = bench.ping(50);
  next.batch = BatchId(8);
  const auto tallies = prober.ping(next, {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[0].answered, 0u);
}

TEST_P(ProberTest, AnEchoFromAnotherHolderOfTheKeyIsNoAnswer) {
  const auto other = *IpAddress::parse(GetParam() ? "fd00::9" : "10.0.0.9");
  wire.homeward = [&](Frame frame) {
    const auto echo = packet::decode_probe_frame(frame, kSecrets.key);
    const packet::ProbeRoute route{.from = other, .to = wire.nic().address, .label = echo->label};
    Frame forged(frame.size());
    encode_probe_frame(route, echo->header, kSecrets.key, echo->ip.bytes.size(), forged);
    return Frames{forged};
  };
  const auto tallies = prober.ping(bench.ping(5), {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[0].answered, 0u);
}

TEST_P(ProberTest, AMtuBlackHoleSwallowsOnlyLargeProbes) {
  wire.path_mtu = 1000;
  auto request = bench.ping(20, Bytes(4096));
  request.specs.push_back(request.specs[0]);
  request.specs[1].size = Bytes(1000);
  const auto tallies = prober.ping(request, {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[0].sent, 20u);
  EXPECT_EQ((*tallies)[0].answered, 0u);
  EXPECT_EQ((*tallies)[1].answered, 20u);
}

TEST_P(ProberTest, WhatTheNicItselfCannotTakeIsNotSentAndTheRestIs) {
  auto request = bench.ping(20, Bytes(9100));
  request.specs.push_back(request.specs[0]);
  request.specs[1].size = Bytes(128);
  const auto tallies = prober.ping(request, {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[0].sent, 0u);
  EXPECT_EQ((*tallies)[1].answered, 20u);
}

TEST_P(ProberTest, AFullQueueDelaysAndLosesNothing) {
  wire.queue_room = 1;
  auto request = bench.ping(100);
  request.pace.packets_per_second = 0;
  const auto tallies = prober.ping(request, {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[0].sent, 100u);
  EXPECT_EQ((*tallies)[0].answered, 100u);
}

TEST_P(ProberTest, KeepsToItsPace) {
  const auto start = wire.now();
  auto request = bench.ping(500);
  request.pace.packets_per_second = 1000;
  ASSERT_TRUE(prober.ping(request, {}));
  EXPECT_GE(wire.now() - start, std::chrono::milliseconds(499));
  EXPECT_LT(wire.now() - start, std::chrono::milliseconds(505));
}

TEST_P(ProberTest, AStopEndsAPingWithWhatItHas) {
  std::stop_source stop;
  wire.homeward = [&, echoes = 0](Frame frame) mutable {
    if (++echoes == 10) stop.request_stop();
    return Frames{frame};
  };
  const auto tallies = prober.ping(bench.ping(100'000), stop.get_token());
  ASSERT_TRUE(tallies);
  EXPECT_GE((*tallies)[0].sent, 10u);
  EXPECT_LT((*tallies)[0].sent, 100u);
}

TEST_P(ProberTest, AQueueThatNeverEmptiesEndsAtTheTimeLimit) {
  wire.queue_room = 0;
  const auto start = wire.now();
  const auto tallies = prober.ping(bench.ping(10), {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[0].sent, 0u);
  EXPECT_LT(wire.now() - start, std::chrono::seconds(6));
}

TEST_P(ProberTest, ANicThatIsDownIsAnErrorThatSaysSo) {
  wire.down = true;
  const auto tallies = prober.ping(bench.ping(10), {});
  ASSERT_FALSE(tallies);
  EXPECT_NE(tallies.error().message.find("down"), std::string::npos);
}

TEST_P(ProberTest, NoRouteIsAnErrorThatNamesThePeer) {
  wire.reachable = false;
  const auto answers = prober.trace(bench.trace(), {});
  ASSERT_FALSE(answers);
  EXPECT_NE(answers.error().message.find(to_string(bench.peer().address)), std::string::npos);
}

TEST_P(ProberTest, RequestsThatMakeNoSenseAreRefusedBeforeAPacketLeaves) {
  auto other_run = bench.ping(1);
  other_run.run = RunId(8);
  EXPECT_FALSE(prober.ping(other_run, {}));
  auto no_peer = bench.ping(1);
  no_peer.specs[0].peer = 1;
  EXPECT_FALSE(prober.ping(no_peer, {}));
  auto no_label = bench.ping(1);
  no_label.specs[0].back_label = PathLabel(0x10000);
  EXPECT_FALSE(prober.ping(no_label, {}));
  auto family = bench.ping(1);
  family.peers[0].address = *IpAddress::parse(GetParam() ? "10.0.0.2" : "fd00::2");
  EXPECT_FALSE(prober.ping(family, {}));
  auto no_hops = bench.trace();
  no_hops.specs[0].max_hops = 0;
  EXPECT_FALSE(prober.trace(no_hops, {}));
  auto no_attempts = bench.trace();
  no_attempts.attempts = 0;
  EXPECT_FALSE(prober.trace(no_attempts, {}));
  EXPECT_FALSE(prober.ping(bench.ping(1u << 31), {}));
  EXPECT_TRUE(wire.sent().empty());
}

// IPv4 routers may quote no more than 28 bytes; the probe is then known by its identification.
TEST(Prober, TakesTheShortQuotesOfIpv4Routers) {
  Bench bench(false);
  bench.wire.quote = 28;
  const auto answers = bench.prober.trace(bench.trace(3), {});
  ASSERT_TRUE(answers);
  EXPECT_EQ(answers->size(), 12u);
}

TEST(Prober, AShortQuoteOfAnotherFlowIsNoAnswer) {
  Bench bench(false);
  bench.wire.quote = 28;
  bench.wire.homeward = [](Frame frame) {
    const auto ip = packet::decode_ip(ByteSpan(frame).subspan(packet::kEthernetSize));
    if (ip->protocol != packet::kProtocolIcmp) return Frames{frame};
    // The quoted source port, with the ICMP checksum mended.
    const std::size_t port = packet::kEthernetSize + packet::kIpv4Size + 8 + packet::kIpv4Size;
    store_be16(frame, port, static_cast<std::uint16_t>(load_be16(frame, port) + 1));
    const std::size_t checksum = packet::kEthernetSize + packet::kIpv4Size + 2;
    store_be16(frame, checksum, static_cast<std::uint16_t>(load_be16(frame, checksum) - 1));
    return Frames{frame};
  };
  const auto answers = bench.prober.trace(bench.trace(), {});
  ASSERT_TRUE(answers);
  EXPECT_EQ(hops_by_spec(*answers, 1)[0], (std::vector{4}));
}

}  // namespace
}  // namespace weft::datapath
