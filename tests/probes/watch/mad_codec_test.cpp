#include "probes/watch/mad_codec.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "probes/mad/mad_port.hpp"
#include "probes/watch/key_epochs.hpp"
#include "probes/watch/standing_responder.hpp"
#include "probes/watch/standing_windows.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/hex.hpp"
#include "topology/model/infiniband.hpp"

namespace weft::watch {
namespace {

using namespace std::chrono_literals;
using Frame = std::vector<std::byte>;

// Made by tests/data/wire/golden_probe.py from the page that describes the format, without this code; zeros
// up to the size of a frame.
const auto kGolden = fakes::from_hex(
    "0000001200000000"
    "01330103000000000000000001020304005100000000000000000000000000000000000000776566"
    "574546540101002111223344556677880000000900000011000000030102030400000000075bcd15000000009ca00a98bd08c3cd"
    "fe800000000000000002c90300000001fe800000000000000002c903000000020012");

const datapath::LocalNic kNear{.mac = {}, .address = *IpAddress::parse("fe80::2:c903:0:1")};
const datapath::LocalNic kFar{.mac = {}, .address = *IpAddress::parse("fe80::2:c903:0:2")};
constexpr Lid kNearLid(0x20);  // the first of its port
constexpr Lid kFarLid(0x10);

packet::RunKey golden_key() {
  packet::RunKey key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i);
  return key;
}

CarriedProbe golden_probe() {
  return {.header = {.kind = packet::ProbeKind::probe,
                     .back_label = UdpPort(0x21),
                     .run = RunId(0x1122334455667788),
                     .batch = BatchId(9),
                     .nic = PortId(17),
                     .spec = 3,
                     .sequence = 0x01020304,
                     .sent_at = 123456789ns},
          .from = kNear.address,
          .to = kFar.address,
          .label = PathLabel(0x12),
          .frame_size = mad::kMadFrameSize};
}

Frame written(const CarriedProbe& probe, const packet::RunKey& key = golden_key()) {
  Frame frame(mad::kMadFrameSize);
  EXPECT_EQ(mad_codec().write(kNear, probe, key, frame), mad::kMadFrameSize);
  return frame;
}
/// As it comes to the other port: the fabric says who sent it.
Frame come(Frame frame, Lid from = kNearLid) {
  store_be16(frame, 6, from.value());
  return frame;
}
std::optional<CarriedProbe> read(ByteSpan frame, const packet::RunKey& key = golden_key()) {
  return mad_codec().read(frame, [&](const CarriedProbe&) { return &key; });
}
bool same(const CarriedProbe& a, const CarriedProbe& b) {
  return a.header == b.header && a.from == b.from && a.to == b.to && a.label == b.label &&
         a.frame_size == b.frame_size;
}

TEST(MadCodec, WritesAndReadsTheGoldenFrame) {
  Frame golden = kGolden;
  golden.resize(mad::kMadFrameSize);
  EXPECT_EQ(written(golden_probe()), golden);
  const auto probe = read(come(golden));
  ASSERT_TRUE(probe);
  EXPECT_TRUE(same(*probe, golden_probe()));
}

TEST(MadCodec, WhatIsWrittenIsRead) {
  std::mt19937_64 random(5);
  for (int i = 0; i < draws(2000); ++i) {
    CarriedProbe probe = golden_probe();
    const bool is_echo = random() % 2 == 1;
    probe.header = {.kind = is_echo ? packet::ProbeKind::echo : packet::ProbeKind::probe,
                    .back_label = UdpPort(static_cast<std::uint16_t>(random())),
                    .run = RunId(random()),
                    .batch = BatchId(static_cast<std::uint32_t>(random())),
                    .nic = PortId(static_cast<std::uint32_t>(random())),
                    .spec = static_cast<std::uint32_t>(random()),
                    .sequence = static_cast<std::uint32_t>(random()),
                    .sent_at = Nanoseconds(static_cast<std::int64_t>(random() >> 1)),
                    .turnaround = Nanoseconds(static_cast<std::uint32_t>(random()))};
    probe.from = gid_address(Guid(random()));
    probe.to = gid_address(Guid(random()));
    probe.label = PathLabel(static_cast<std::uint16_t>(random()));
    packet::RunKey key, other;
    for (std::size_t b = 0; b < key.size(); ++b)
      key[b] = static_cast<std::byte>(random()), other[b] = static_cast<std::byte>(random());
    // An echo's count is no LID: it may be anything.
    const Frame frame = come(written(probe, key), is_echo ? kFarLid : Lid(probe.header.back_label.value()));
    const auto again = read(frame, key);
    ASSERT_TRUE(again);
    EXPECT_TRUE(same(*again, probe));
    EXPECT_FALSE(read(frame, other));
  }
}

TEST(MadCodec, RefusesAnyCutAndAnyChangedBitOfWhatItCovers) {
  const Frame frame = come(written(golden_probe()));
  for (std::size_t size = 0; size < frame.size(); ++size) EXPECT_FALSE(read(ByteSpan(frame).first(size)));
  Frame longer = frame;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(read(longer));
  // Header, authenticator, both GIDs and the label: bytes 40 to 125 of the MAD.
  for (std::size_t at = 8 + 40; at < 8 + 126; ++at)
    for (int bit = 0; bit < 8; ++bit) {
      Frame changed = frame;
      changed[at] ^= static_cast<std::byte>(1 << bit);
      EXPECT_FALSE(read(changed)) << at << " bit " << bit;
    }
  for (const std::size_t at : {8 + 0, 8 + 1, 8 + 17, 8 + 37, 8 + 39}) {  // version, class, attribute, OUI
    Frame changed = frame;
    changed[at] ^= std::byte{1};
    EXPECT_FALSE(read(changed)) << at;
  }
}

TEST(MadCodec, ReadsNoProbeWhoseEchoWouldGoToAnotherPort) {
  const Frame frame = written(golden_probe());  // back to 0x21
  EXPECT_TRUE(read(come(frame, Lid(0x21))));
  EXPECT_TRUE(read(come(frame, Lid(1)))) << "a port has 128 LIDs at most";
  EXPECT_FALSE(read(come(frame, Lid(0x22)))) << "a port sends from its first one";
  auto far = golden_probe();
  far.header.back_label = UdpPort(0x20 + 128);
  EXPECT_FALSE(read(come(written(far), Lid(0x20))));
}

/// Two standing agents of a subnet: what one sends the other has at once, or never.
class TwoPorts {
 public:
  explicit TwoPorts(std::uint64_t boot = 7)
      : assignment_{.plan = PlanVersion(1),
                    .epochs = {},
                    .nics = {{.nic = PortId(1), .interface = "near", .packets_per_second = 100}},
                    .peers = {{PortId(2), kFar.address}},
                    .asked = {}},
        run{assignment_.plan, assignment_.peers, Bytes(128), boot} {
    for (std::uint32_t i = 0; i < 4; ++i)
      assignment_.nics[0].streams.push_back(
          {0, PathLabel(kFarLid.value() + i), PathLabel(kNearLid.value() + i)});
    KeyEpochs epochs({std::byte{3}}, 1h);
    epochs.renew(now);
    epochs.give(assignment_, NodeId(1), {kNear.address}, {NodeId(2)}, now);
    keys.renew(assignment_, now);
    Assignment far{
        .plan = PlanVersion(1), .epochs = {}, .nics = {}, .peers = {}, .asked = {{PortId(1), kNear.address}}};
    epochs.give(far, NodeId(2), {kFar.address}, {}, now);
    far_keys.renew(far, now);
    prober.emplace(run, keys, assignment_.nics[0], kNear, mad_codec(), now);
    windows.emplace(assignment_.plan, now, now);
  }

  /// The echo that the far port answers a frame with; absent: none.
  std::optional<Frame> answer(const Frame& frame) {
    const auto probe = far_keys.read(come(frame), kFar.address, mad_codec());
    Frame reply(mad::kMadFrameSize);
    if (!probe || responder.take(*probe, now, now, reply) == 0) return std::nullopt;
    return come(reply, kFarLid);
  }
  /// Whether the near port believes it.
  bool take(const Frame& frame) {
    const auto echo = keys.read(frame, kNear.address, mad_codec());
    if (echo) prober->take(echo->packet, now);
    return echo.has_value();
  }
  void run_for(Nanoseconds time) {
    for (const auto end = now + time; now < end; now += 5ms) {
      const auto frames = prober->compose(now, [](std::uint32_t) { return packet::MacAddress(); });
      for (const ByteSpan frame : frames) {
        const Frame left(frame.begin(), frame.end());
        sent.push_back(left);
        if (is_lost_there && is_lost_there(left)) continue;
        const auto echo = answer(left);
        if (echo && !(is_lost_back && is_lost_back(left))) waiting_.push_back(*echo);
      }
      prober->sent(frames.size(), now, now);
      for (; !waiting_.empty(); waiting_.pop_front()) take(waiting_.front());
      if (auto window = windows->next({{0, &*prober}}, {now, now}, [](std::uint32_t) { return 0; }))
        told.push_back(std::move(*window));
    }
  }

  Nanoseconds now = 1000s;
  std::function<bool(const Frame&)> is_lost_there, is_lost_back;
  std::vector<Frame> sent;
  std::vector<Window> told;
  StandingKeys keys, far_keys;

 private:
  Assignment assignment_;
  std::deque<Frame> waiting_;

 public:
  StandingRun run;
  std::optional<StandingProber> prober;
  std::optional<StandingWindows> windows;
  StandingResponder responder{kFar, mad_codec(), far_keys, 1};
};

std::map<LostWay, int> lost_of(const TwoPorts& ports) {
  std::map<LostWay, int> lost;
  for (const Window& window : ports.told)
    for (const LostProbe& one : window.nics.at(0).lost) ++lost[one.way];
  return lost;
}
std::uint32_t sequence_of(const Frame& frame) { return load_be32(frame, 8 + 12); }

TEST(StandingDatagrams, AHealthySubnetLosesNothingAndNoRoundTripIsToldOf) {
  TwoPorts ports;
  ports.run_for(15s);
  ASSERT_GE(ports.told.size(), 10u);
  EXPECT_TRUE(lost_of(ports).empty());
  for (const Window& window : ports.told) EXPECT_TRUE(window.nics.at(0).delays.empty());
}

TEST(StandingDatagrams, TheSenderKnowsOnWhichWayAProbeWasLost) {
  for (const auto way : {LostWay::there, LostWay::back}) {
    TwoPorts ports;
    ports.run_for(3s);
    const auto every_tenth = [](const Frame& frame) { return sequence_of(frame) % 10 == 3; };
    (way == LostWay::there ? ports.is_lost_there : ports.is_lost_back) = every_tenth;
    ports.run_for(10s);
    const auto lost = lost_of(ports);
    EXPECT_NEAR(lost.at(way), 90, 10);
    EXPECT_EQ(lost.size(), 1u);
  }
}

TEST(StandingDatagrams, AReplayIsNotAnsweredAndAnEchoCountsOnce) {
  TwoPorts ports;
  ports.is_lost_back = [&](const Frame&) { return true; };
  ports.run_for(3s);
  EXPECT_FALSE(ports.answer(ports.sent.back())) << "it came before";
  ports.is_lost_back = nullptr;
  ports.run_for(1s);
  EXPECT_FALSE(ports.answer(ports.sent.back()));
  TwoPorts fresh;
  fresh.is_lost_there = [](const Frame&) { return true; };
  fresh.run_for(100ms);
  const Frame echo = fresh.answer(fresh.sent.front()).value();
  EXPECT_TRUE(fresh.take(echo));
  EXPECT_TRUE(fresh.take(echo)) << "authentic, and of a probe that is answered: nothing changes";
}

TEST(StandingDatagrams, AnEchoOfAnotherBootIsOfNoProbeOfThisOne) {
  TwoPorts before(7), after(8);
  after.is_lost_there = [](const Frame&) { return true; };
  before.run_for(2500ms);
  after.run_for(2500ms);  // of the last ones answers may still come
  TwoPorts responding;
  for (const Frame& frame : before.sent)
    if (const auto echo = responding.answer(frame)) after.take(*echo);
  after.run_for(3s);
  for (const Window& window : after.told)
    EXPECT_EQ(window.nics.at(0).lost.size(), window.nics[0].count) << "none of its own was answered";
}

TEST(StandingDatagrams, OfAnotherFabricNothingIsReadAndOfAStrangerNeither) {
  TwoPorts ports;
  ports.run_for(100ms);
  KeyEpochs others({std::byte{4}}, 1h);
  others.renew(ports.now);
  Assignment far{
      .plan = PlanVersion(1), .epochs = {}, .nics = {}, .peers = {}, .asked = {{PortId(1), kNear.address}}};
  others.give(far, NodeId(2), {kFar.address}, {}, ports.now);
  StandingKeys of_another;
  of_another.renew(far, ports.now);
  EXPECT_FALSE(of_another.read(come(ports.sent.front()), kFar.address, mad_codec()));
  EXPECT_TRUE(ports.far_keys.read(come(ports.sent.front()), kFar.address, mad_codec()));
  EXPECT_FALSE(ports.far_keys.read(come(ports.sent.front()), kNear.address, mad_codec()))
      << "not to this port";
}

}  // namespace
}  // namespace weft::watch
