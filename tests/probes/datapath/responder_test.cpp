#include "probes/datapath/responder.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>

namespace weft::datapath {
namespace {

using Frame = std::vector<std::byte>;

const packet::RunSecrets kSecrets{.run = RunId(7), .key = {std::byte{9}}};
const LocalNic kNear{.mac = {{2, 0, 0, 0, 0, 1}}, .address = *IpAddress::parse("10.0.0.1")};
const LocalNic kNic{.mac = {{2, 0, 0, 0, 0, 2}}, .address = *IpAddress::parse("10.0.0.2")};
const RunNics kNics({{PortId(9), kNear.address}, {PortId(10), kNear.address}, {PortId(11), kNic.address}});
const Nanoseconds kAt = std::chrono::seconds(5);

struct Probe {
  packet::ProbeKind kind = packet::ProbeKind::probe;
  RunId run = kSecrets.run;
  BatchId batch{1};
  PortId nic{10};
  std::uint32_t spec = 0;
  std::uint32_t sequence = 0;
  std::size_t size = 128;
  packet::RunKey key = kSecrets.key;
  IpAddress from = kNear.address;
};

Frame frame_of(const Probe& probe) {
  Frame frame(packet::kEthernetSize + probe.size);
  packet::encode_probe_frame({.from_mac = {{2, 0, 0, 0, 9, 9}},
                              .to_mac = kNic.mac,
                              .from = probe.from,
                              .to = kNic.address,
                              .label = UdpPort(50000)},
                             {.kind = probe.kind,
                              .back_label = UdpPort(51000),
                              .run = probe.run,
                              .batch = probe.batch,
                              .nic = probe.nic,
                              .spec = probe.spec,
                              .sequence = probe.sequence,
                              .sent_at = Nanoseconds(77)},
                             probe.key, probe.size, frame);
  return frame;
}

/// The answer; empty where there is none.
Frame take(Responder& responder, const Frame& frame, Nanoseconds at = kAt) {
  packet::FrameTemplate reply;
  const auto answer = responder.take(frame, at, at + Nanoseconds(300), reply);
  return Frame(answer.begin(), answer.end());
}

TEST(Responder, EchoesAProbeWithTheBackLabelAndItsOwnTurnaround) {
  Responder responder(kNic, kSecrets, kNics);
  const auto reply = take(responder, frame_of({.sequence = 3, .size = 256}));
  ASSERT_EQ(reply.size(), packet::kEthernetSize + 256);
  const auto echo = packet::decode_probe_frame(reply, kSecrets.key);
  ASSERT_TRUE(echo);
  EXPECT_TRUE(echo->authentic && echo->intact);
  EXPECT_EQ(echo->label, UdpPort(51000));
  EXPECT_EQ(echo->ethernet.destination, (packet::MacAddress{{2, 0, 0, 0, 9, 9}}));
  EXPECT_EQ(echo->ip.destination, kNear.address);
  EXPECT_EQ(echo->header.kind, packet::ProbeKind::echo);
  EXPECT_EQ(echo->header.sequence, 3u);
  EXPECT_EQ(echo->header.sent_at, Nanoseconds(77));
  EXPECT_EQ(echo->header.turnaround, Nanoseconds(300));
}

TEST(Responder, AParticipantThatNamesAnotherSourceGetsNothingSentThere) {
  Responder responder(kNic, kSecrets, kNics);
  for (const char* elsewhere : {"192.0.2.1", "10.0.0.2", "255.255.255.255", "224.0.0.1"})
    for (const packet::ProbeKind kind :
         {packet::ProbeKind::probe, packet::ProbeKind::segment, packet::ProbeKind::flow})
      EXPECT_TRUE(take(responder, frame_of({.kind = kind, .from = *IpAddress::parse(elsewhere)})).empty());
  EXPECT_TRUE(take(responder, frame_of({.nic = PortId(99)})).empty()) << "no NIC of the run";
  EXPECT_TRUE(responder.received(BatchId(1)).empty()) << "nor is it counted for who it names";
  EXPECT_EQ(responder.rejects().foreign, 13u);
  EXPECT_FALSE(take(responder, frame_of({})).empty());
}

TEST(Responder, WhoNamesAStreamThatIsKnownFromAnotherAddressIsForeignToo) {
  Responder responder(kNic, kSecrets, kNics);
  EXPECT_FALSE(take(responder, frame_of({})).empty());
  EXPECT_TRUE(take(responder, frame_of({.sequence = 1, .from = *IpAddress::parse("192.0.2.1")})).empty());
  EXPECT_EQ(responder.rejects().foreign, 1u);
  EXPECT_FALSE(take(responder, frame_of({.sequence = 1})).empty()) << "the number is still to come";
  EXPECT_EQ(responder.received(BatchId(1)).at(0).packets, 2u);
}

/// A port into which some frames come once, and which takes so many answers.
class FullPort : public PacketPort {
 public:
  FullPort(std::vector<Frame> frames, std::stop_source& stop) : frames_(std::move(frames)), stop_(stop) {
    for (const Frame& frame : frames_) arrivals_.push_back({frame, kAt});
  }
  std::optional<std::size_t> takes;  // absent: the port fails
  Nanoseconds now_ = kAt;
  Nanoseconds send_takes{};

  Nanoseconds now() const override { return now_; }
  Result<SendOutcome> send(std::span<const ByteSpan>) override {
    now_ += send_takes;
    if (takes) return SendOutcome{.taken = *takes};
    return fail(ErrorKind::absent, "the interface is down");
  }
  Result<std::span<const Arrival>> receive(Nanoseconds) override {
    if (given_) stop_.request_stop();
    return std::exchange(given_, true) ? std::span<const Arrival>() : std::span<const Arrival>(arrivals_);
  }
  std::uint64_t overruns() override { return 0; }

 private:
  std::vector<Frame> frames_;
  std::vector<Arrival> arrivals_;
  std::stop_source& stop_;
  bool given_ = false;
};

TEST(ResponderLoop, TellsHowManyOfItsAnswersDidNotGoOut) {
  for (const std::optional<std::size_t> takes :
       {std::optional<std::size_t>(2), std::optional<std::size_t>()}) {
    std::stop_source stop;
    FullPort port({frame_of({.spec = 0, .sequence = 0}), frame_of({.spec = 0, .sequence = 1}),
                   frame_of({.spec = 0, .sequence = 2}), frame_of({.spec = 1, .sequence = 0}),
                   frame_of({.kind = packet::ProbeKind::flow, .spec = 2, .sequence = 0})},
                  stop);
    port.takes = takes;
    ResponderLoop loop(port, kNic, kSecrets, kNics);
    loop.run(stop.get_token());
    const auto tallies = loop.received(BatchId(1));
    ASSERT_EQ(tallies.size(), 3u);
    EXPECT_EQ(tallies[0].packets, 3u);
    EXPECT_EQ(tallies[0].unsent, takes ? 1u : 3u);
    EXPECT_EQ(tallies[1].unsent, 1u);
    EXPECT_EQ(tallies[2].unsent, 0u) << "flows are not answered";
  }
}

TEST(ResponderLoop, TellsHowManyOfItsAnswersWentOutLate) {
  using std::chrono::milliseconds;
  const std::vector<Frame> frames{frame_of({.sequence = 0}), frame_of({.sequence = 1}),
                                  frame_of({.sequence = 2}),
                                  frame_of({.kind = packet::ProbeKind::flow, .spec = 1})};
  // It was not run before it read them, before they were sent, or not at all; what did not go was not late.
  for (const auto& [before, in_send, taken, late] :
       {std::tuple(milliseconds(100), milliseconds(0), 3u, 3u),
        std::tuple(milliseconds(0), milliseconds(100), 3u, 3u),
        std::tuple(milliseconds(100), milliseconds(100), 3u, 3u),
        std::tuple(milliseconds(99), milliseconds(0), 3u, 0u),
        std::tuple(milliseconds(100), milliseconds(0), 2u, 2u)}) {
    std::stop_source stop;
    FullPort port(frames, stop);
    port.takes = taken;
    port.now_ += before;
    port.send_takes = in_send;
    ResponderLoop loop(port, kNic, kSecrets, kNics);
    loop.run(stop.get_token());
    const auto tallies = loop.received(BatchId(1));
    ASSERT_EQ(tallies.size(), 2u);
    EXPECT_EQ(tallies[0].late, late);
    EXPECT_EQ(tallies[0].unsent, 3 - taken);
    EXPECT_EQ(tallies[1].late, 0u) << "flows are not answered";
  }
}

/// A port whose frames wait until somebody asks whether there are any.
class LatePort : public PacketPort {
 public:
  explicit LatePort(Frame frame) : frame_(std::move(frame)), arrival_{frame_, kAt} {}
  Nanoseconds now() const override { return kAt; }
  Result<SendOutcome> send(std::span<const ByteSpan> frames) override {
    return SendOutcome{.taken = frames.size()};
  }
  Result<std::span<const Arrival>> receive(Nanoseconds) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (!asked_ || !has_frame_.exchange(false)) return std::span<const Arrival>();
    return std::span<const Arrival>(&arrival_, 1);
  }
  bool has_unread() const override {
    asked_ = true;
    return has_frame_;
  }

 private:
  Frame frame_;
  Arrival arrival_;
  mutable std::atomic<bool> asked_ = false;
  std::atomic<bool> has_frame_ = true;
};

TEST(ResponderLoop, CountsWhatItsHostHasNotReadYet) {
  LatePort port(frame_of({}));
  ResponderLoop loop(port, kNic, kSecrets, kNics);
  const std::jthread thread([&loop](std::stop_token stop) { loop.run(stop); });
  const auto tallies = loop.received(BatchId(1));
  ASSERT_EQ(tallies.size(), 1u);
  EXPECT_EQ(tallies[0].packets, 1u);
}

TEST(Responder, CountsByBatchNicAndSpec) {
  Responder responder(kNic, kSecrets, kNics);
  take(responder, frame_of({.sequence = 0}), kAt);
  take(responder, frame_of({.sequence = 1, .size = 1024}), kAt + Nanoseconds(50));
  take(responder, frame_of({.spec = 4}));
  take(responder, frame_of({.nic = PortId(9)}));
  take(responder, frame_of({.batch = BatchId(2)}));
  const auto received = responder.received(BatchId(1));
  ASSERT_EQ(received.size(), 3u);
  EXPECT_EQ(received[0].from, PortId(9));
  EXPECT_EQ(received[1], (ReceivedTally{.batch = BatchId(1),
                                        .from = PortId(10),
                                        .spec = 0,
                                        .packets = 2,
                                        .bytes = 128 + 1024,
                                        .first = kAt,
                                        .last = kAt + Nanoseconds(50),
                                        .missing = std::vector<LossRun>{}}));
  EXPECT_EQ(received[2].spec, 4u);
  EXPECT_EQ(responder.received(BatchId(2)).size(), 1u);
  EXPECT_TRUE(responder.received(BatchId(3)).empty());
}

TEST(Responder, TellsWhichProbesDidNotComeBeforeTheLastThatDid) {
  Responder responder(kNic, kSecrets, kNics);
  for (const std::uint32_t sequence : {2u, 3u, 9u, 5u, 6u, 5u})
    take(responder, frame_of({.sequence = sequence}));
  take(responder, frame_of({.kind = packet::ProbeKind::flow, .spec = 1, .sequence = 7}));
  const auto received = responder.received(BatchId(1));
  EXPECT_EQ(received.at(0).missing, (std::vector<LossRun>{{0, 2}, {4, 1}, {7, 2}}));
  EXPECT_FALSE(received.at(1).missing) << "a flow is too long for that";
}

TEST(Responder, GivesUpTheOrderOfAStreamWithMoreGapsThanARowKeeps) {
  Responder responder(kNic, kSecrets, kNics);
  for (std::uint32_t i = 1; i <= kMaxLossRuns; ++i) take(responder, frame_of({.sequence = 2 * i}));
  EXPECT_EQ(responder.received(BatchId(1)).at(0).missing->size(), kMaxLossRuns);
  take(responder, frame_of({.sequence = 2 * kMaxLossRuns + 2}));
  EXPECT_FALSE(responder.received(BatchId(1)).at(0).missing);
  EXPECT_EQ(responder.received(BatchId(1)).at(0).packets, kMaxLossRuns + 1);
}

TEST(Responder, AReplayedProbeIsNeitherCountedNorAnswered) {
  Responder responder(kNic, kSecrets, kNics);
  const auto frame = frame_of({});
  EXPECT_FALSE(take(responder, frame).empty());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(take(responder, frame).empty());
  EXPECT_EQ(responder.received(BatchId(1)).at(0).packets, 1u);
  EXPECT_EQ(responder.rejects().repeated, 10u);
}

TEST(Responder, ForgedForeignAndTruncatedPacketsAreIgnored) {
  Responder responder(kNic, kSecrets, kNics);
  EXPECT_TRUE(take(responder, frame_of({.key = {std::byte{8}}})).empty());
  EXPECT_TRUE(take(responder, frame_of({.run = RunId(8)})).empty());
  EXPECT_TRUE(take(responder, frame_of({.kind = packet::ProbeKind::echo})).empty());
  auto cut = frame_of({});
  cut.resize(cut.size() - 8);
  EXPECT_TRUE(take(responder, cut).empty());
  EXPECT_TRUE(take(responder, {}).empty());
  const LocalNic other{.mac = kNic.mac, .address = *IpAddress::parse("10.0.0.3")};
  Responder elsewhere(other, kSecrets, kNics);
  EXPECT_TRUE(take(elsewhere, frame_of({})).empty()) << "a probe taken from another host's wire";
  EXPECT_TRUE(responder.received(BatchId(1)).empty());
  EXPECT_EQ(responder.rejects().foreign, 5u);
}

TEST(Responder, AWrongIcrcIsCountedAsCorruptForItsStreamAndNotAnswered) {
  Responder responder(kNic, kSecrets, kNics);
  auto damaged = frame_of({.sequence = 1, .size = 1024});
  damaged[900] ^= std::byte{1};
  EXPECT_TRUE(take(responder, damaged).empty());
  take(responder, frame_of({.sequence = 2}));
  const auto received = responder.received(BatchId(1));
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].packets, 1u);
  EXPECT_EQ(received[0].corrupt, 1u);
}

TEST(Responder, AHeaderTooDamagedToAttributeIsCountedApart) {
  Responder responder(kNic, kSecrets, kNics);
  auto damaged = frame_of({});
  damaged[packet::kEthernetSize + packet::probe_payload_offset(false) + 20] ^=
      std::byte{1};  // the sender's NIC
  EXPECT_TRUE(take(responder, damaged).empty());
  EXPECT_EQ(responder.rejects(), (ResponderRejects{.damaged = 1}));
}

TEST(Responder, AParcelIsAcknowledgedOnceByTheSmallestEcho) {
  Responder responder(kNic, kSecrets, kNics);
  const auto frame = frame_of({.kind = packet::ProbeKind::segment, .sequence = 3, .size = 4096});
  EXPECT_EQ(take(responder, frame).size(), packet::kEthernetSize + packet::min_probe_size(false));
  EXPECT_TRUE(take(responder, frame).empty());
  EXPECT_EQ(responder.received(BatchId(1)).at(0).bytes, 4096u);
}

TEST(Responder, FlowPacketsAreCountedAndNotAnswered) {
  Responder responder(kNic, kSecrets, kNics);
  for (std::uint32_t i = 0; i < 100; ++i)
    EXPECT_TRUE(
        take(responder, frame_of({.kind = packet::ProbeKind::flow, .sequence = i, .size = 4096})).empty());
  EXPECT_EQ(responder.received(BatchId(1)).at(0).bytes, 409'600u);
}

TEST(Responder, NeverAnswersWithMoreThanItReceived) {
  Responder responder(kNic, kSecrets, kNics);
  for (const std::size_t size : {104, 128, 1500, 4096}) {
    const auto frame = frame_of({.sequence = static_cast<std::uint32_t>(size), .size = size});
    EXPECT_LE(take(responder, frame).size(), frame.size());
  }
}

TEST(Responder, TheOldestBatchMakesRoom) {
  Responder responder(kNic, kSecrets, kNics, {.batches = 3, .streams = 100});
  for (std::uint32_t batch = 0; batch < 10; ++batch) take(responder, frame_of({.batch = BatchId(batch)}));
  EXPECT_TRUE(responder.received(BatchId(6)).empty());
  for (std::uint32_t batch = 7; batch < 10; ++batch) EXPECT_EQ(responder.received(BatchId(batch)).size(), 1u);
}

TEST(Responder, StreamsAreBoundedAndOneBatchCannotExceedThem) {
  Responder responder(kNic, kSecrets, kNics, {.batches = 10, .streams = 20});
  for (std::uint32_t spec = 0; spec < 15; ++spec)
    take(responder, frame_of({.batch = BatchId(1), .spec = spec}));
  for (std::uint32_t spec = 0; spec < 25; ++spec)
    take(responder, frame_of({.batch = BatchId(2), .spec = spec}));
  EXPECT_TRUE(responder.received(BatchId(1)).empty());
  EXPECT_EQ(responder.received(BatchId(2)).size(), 20u);
  EXPECT_EQ(responder.rejects().beyond_limits, 5u);
  EXPECT_FALSE(take(responder, frame_of({.batch = BatchId(3)})).empty())
      << "a new batch still finds its place";
}

}  // namespace
}  // namespace weft::datapath
