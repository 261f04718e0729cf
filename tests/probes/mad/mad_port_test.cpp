#include "probes/mad/mad_port.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <set>

namespace weft::mad {
namespace {

using namespace std::chrono_literals;

/// A port of a device: keeps what is sent, and gives what it was given.
class GivenMads final : public Mads {
 public:
  Result<void> send(const MadPacket& packet) override {
    if (sent.size() == room) return fail(ErrorKind::absent, "the device is gone");
    sent.push_back(packet);
    return {};
  }
  Result<std::optional<MadArrival>> receive(Nanoseconds at_most) override {
    if (is_gone) return fail(ErrorKind::absent, "the device is gone");
    if (coming.empty()) {
      clock += at_most;
      return std::optional<MadArrival>();
    }
    const auto first = coming.front();
    coming.pop_front();
    return std::optional(first);
  }
  Nanoseconds now() override { return clock; }

  std::size_t room = SIZE_MAX;
  bool is_gone = false;
  Nanoseconds clock = 10s;
  std::vector<MadPacket> sent;
  std::deque<MadArrival> coming;
};

MadBytes numbered(std::uint32_t number) {
  return encode_mad({.to = Lid(1), .mad_class = MadClass::standing_probe}, MadTransaction(number));
}
std::vector<std::byte> frame_to(Lid to, std::uint32_t number) {
  std::vector<std::byte> frame(kMadFrameSize);
  EXPECT_EQ(put_mad_frame({.destination = to, .source = {}}, numbered(number), frame), kMadFrameSize);
  return frame;
}

struct Port {
  Port() : port(std::unique_ptr<Mads>(mads)) {}
  GivenMads* mads = new GivenMads;  // the port's
  MadPort port;
};

TEST(MadPort, EachFrameLeavesWithATransactionOfItsOwn) {
  Port at;
  const auto one = frame_to(Lid(7), 1);  // probes of one round have the same number
  const std::vector<ByteSpan> frames{one, one};
  ASSERT_TRUE(at.port.send(frames));
  ASSERT_TRUE(at.port.send(frames));
  std::set<std::vector<std::byte>> transactions;
  for (const MadPacket& packet : at.mads->sent)
    transactions.insert({packet.bytes.begin() + 8, packet.bytes.begin() + 16});
  EXPECT_EQ(transactions.size(), 4u);
}

TEST(MadPort, SendsEachFrameToItsDestinationAndAwaitsNoAnswer) {
  Port at;
  const auto one = frame_to(Lid(7), 1), two = frame_to(Lid(300), 2);
  const std::vector<ByteSpan> frames{one, two};
  const auto sent = at.port.send(frames);
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->taken, 2u);
  ASSERT_EQ(at.mads->sent.size(), 2u);
  EXPECT_EQ(std::get<Lid>(at.mads->sent[0].to), Lid(7));
  EXPECT_EQ(std::get<Lid>(at.mads->sent[1].to), Lid(300));
  EXPECT_EQ(at.mads->sent[1].bytes, numbered(2));
  EXPECT_EQ(at.mads->sent[1].answer_wait, 0ns);
}

TEST(MadPort, SaysHowFarASendGotAndFailsWhereNothingWent) {
  Port at;
  at.mads->room = 1;
  const auto frame = frame_to(Lid(7), 1);
  const std::vector<ByteSpan> frames{frame, frame};
  const auto sent = at.port.send(frames);
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->taken, 1u);
  EXPECT_FALSE(at.port.send(frames));
}

TEST(MadPort, GivesWhatCameWithWhoSentItAndWhenAndPassesOverWhatWasNotDelivered) {
  Port at;
  at.mads->coming = {{.bytes = numbered(1), .from = Lid(4)},
                     {.bytes = numbered(2), .undelivered = true},
                     {.bytes = numbered(3), .from = Lid(5)}};
  const auto came = at.port.receive(0ns);
  ASSERT_TRUE(came);
  ASSERT_EQ(came->size(), 2u);
  EXPECT_EQ((*came)[1].at, 10s);
  ASSERT_EQ((*came)[1].frame.size(), kMadFrameSize);
  EXPECT_EQ(lids_of_frame((*came)[0].frame).source, Lid(4));
  EXPECT_EQ(lids_of_frame((*came)[1].frame).source, Lid(5));
  EXPECT_TRUE(std::ranges::equal((*came)[1].frame.subspan(kLocalRouteHeaderSize), numbered(3)));
}

TEST(MadPort, WaitsUntilTheTimeThatIsSaidAndNoLongerWithAFlood) {
  Port at;
  EXPECT_TRUE(at.port.receive(12s)->empty());
  EXPECT_EQ(at.port.now(), 12s);
  EXPECT_TRUE(at.port.receive(1s)->empty()) << "a time that is over";
  EXPECT_EQ(at.port.now(), 12s);
  at.mads->coming.assign(1000, {.bytes = numbered(1), .undelivered = true});
  EXPECT_TRUE(at.port.receive(1s)->empty());
  EXPECT_GT(at.mads->coming.size(), 900u);
  at.mads->is_gone = true;
  EXPECT_FALSE(at.port.receive(1s));
}

}  // namespace
}  // namespace weft::mad
