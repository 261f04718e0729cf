#include "probes/mad/mad_prober.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>

namespace weft::mad {
namespace {

using std::chrono::milliseconds;

/// Two ends of a wire that loses every n-th probe to LID 7 and takes 10 us.
class Wire {
 public:
  class End : public Mads {
   public:
    explicit End(Wire& wire, bool left) : wire_(&wire), left_(left) {}
    Result<void> send(const MadPacket& packet) override {
      const auto lid = std::get<Lid>(packet.to);
      wire_->now += wire_->send_takes;
      if (lid == Lid(7) && ++wire_->to_seven % wire_->lose_each == 0) return {};
      wire_->way(!left_).push_back({packet.bytes, false, Lid()});
      if (wire_->repeat) wire_->way(!left_).push_back({packet.bytes, false, Lid()});
      return {};
    }
    Result<std::optional<MadArrival>> receive(Nanoseconds at_most) override {
      auto& queue = wire_->way(left_);
      if (queue.empty()) {
        wire_->now += at_most;
        if (left_ && wire_->late) (void)wire_->late->serve(Nanoseconds(0));
        if (left_ && wire_->served) wire_->served();
        while (left_ && wire_->other && !wire_->right.empty()) (void)wire_->other->serve(Nanoseconds(0));
        return std::nullopt;
      }
      wire_->now += std::chrono::microseconds(10);
      auto arrival = queue.front();
      queue.pop_front();
      return arrival;
    }
    Nanoseconds now() override { return wire_->now; }

   private:
    Wire* wire_;
    bool left_;
  };
  std::deque<MadArrival>& way(bool to_left) { return to_left ? left : right; }
  std::deque<MadArrival> left, right;
  Nanoseconds now{};
  Nanoseconds send_takes{};
  unsigned to_seven = 0;
  unsigned lose_each = 10;
  bool repeat = false;
  MadProber* other = nullptr;
  std::function<void()> served;  // each time that the left end waits
  MadProber* late = nullptr;     // takes one each time that the left end waits
};

const packet::RunSecrets kSecrets{RunId(9), packet::RunKey{std::byte{1}}};

datapath::PingRequest request(std::uint32_t count) {
  return {.run = RunId(9),
          .batch = BatchId(3),
          .peers = {{PortId(2), IpAddress()}},
          .specs = {{.label = PathLabel(7), .back_label = PathLabel(1), .count = count},
                    {.label = PathLabel(8), .back_label = PathLabel(1), .count = count}},
          .pace = {.packets_per_second = 1000, .answer_wait = milliseconds(50)}};
}

TEST(MadProber, CountsWhatArrivedAndWhatCameBackByPath) {
  Wire wire;
  Wire::End left(wire, true), right(wire, false);
  MadProber here(left, kSecrets, PortId(1)), there(right, kSecrets, PortId(2));
  wire.other = &there;
  const auto tallies = here.ping(request(100), {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[0].sent, 100u);
  EXPECT_EQ((*tallies)[0].answered, 90u);
  EXPECT_EQ((*tallies)[1].answered, 100u);
  EXPECT_TRUE((*tallies)[1].rtt);
  ASSERT_EQ((*tallies)[0].unanswered.size(), 10u);
  EXPECT_EQ((*tallies)[0].unanswered.at(1), (LossRun{19, 1}));
  EXPECT_EQ((*tallies)[0].window.value_or(TimeWindow{}).length / milliseconds(1), 198) << "each 2 ms";
  const auto received = there.received(BatchId(3)).value();
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].packets, 90u);
  EXPECT_EQ(received[1].packets, 100u);
  EXPECT_EQ(received[0].from, PortId(1));
  EXPECT_EQ(received[0].missing.value().size(), 9u) << "it cannot know of the last";
  EXPECT_EQ(received[1].missing, std::vector<LossRun>());
  EXPECT_TRUE(there.received(BatchId(4))->empty());
}

TEST(MadProber, ARepeatedProbeOrEchoCountsOnce) {
  Wire wire;
  wire.repeat = true;
  Wire::End left(wire, true), right(wire, false);
  MadProber here(left, kSecrets, PortId(1)), there(right, kSecrets, PortId(2));
  wire.other = &there;
  const auto tallies = here.ping(request(20), {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[1].answered, 20u);
  EXPECT_EQ(there.received(BatchId(3)).value()[1].packets, 20u);
}

TEST(MadProber, WhatABusyHostDidNotTakeYetIsNotLost) {
  Wire wire;
  Wire::End left(wire, true), right(wire, false);
  MadProber here(left, kSecrets, PortId(1)), there(right, kSecrets, PortId(2));
  ASSERT_TRUE(here.ping(request(100), {}));  // the other end serves nobody meanwhile
  const auto received = there.received(BatchId(3)).value();
  EXPECT_EQ(received[1].packets, 100u);
  EXPECT_EQ(received[1].unsent, 100u) << "and its echoes are missing for no fault of the way back";
}

TEST(MadProber, WaitsForTheEchoesOfALatePeerAsLongAsTheyCome) {
  Wire wire;
  Wire::End left(wire, true), right(wire, false);
  MadProber here(left, kSecrets, PortId(1)), there(right, kSecrets, PortId(2));
  wire.late = &there;
  const auto tallies = here.ping(request(100), {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[1].answered, 100u) << "one each 20 ms, where 50 ms are waited for the last";
}

/// The other end is not run from the 81st probe on, for so long.
class StalledEnd {
 public:
  StalledEnd(Wire& wire, MadProber& there, Nanoseconds length)
      : wire_(wire), there_(there), length_(length) {}
  datapath::PingTally ping(MadProber& here) {
    wire_.lose_each = 1'000'000;
    wire_.served = [this] {
      if (wire_.to_seven >= 80 && !until_) until_ = wire_.now + length_;
      if (until_ && wire_.now < *until_) return;
      (void)there_.serve(Nanoseconds(0));
      while (!wire_.right.empty()) (void)there_.serve(Nanoseconds(0));
    };
    return here.ping(request(100), {}).value().at(0);
  }

 private:
  Wire& wire_;
  MadProber& there_;
  Nanoseconds length_;
  std::optional<Nanoseconds> until_;
};

TEST(MadProber, WaitsForAPeerThatFellSilentAsForOneThatIsNotRun) {
  Wire wire;
  Wire::End left(wire, true), right(wire, false);
  MadProber here(left, kSecrets, PortId(1)), there(right, kSecrets, PortId(2));
  const auto tally = StalledEnd(wire, there, milliseconds(1'000)).ping(here);
  EXPECT_EQ(tally.answered, 100u);
  EXPECT_GE(tally.late, 19u);
  EXPECT_GE(there.received(BatchId(3)).value().at(0).late, tally.late);
}

TEST(MadProber, SaysHowManyEchoesItSentLateBecauseItWasNotRun) {
  Wire wire;
  Wire::End left(wire, true), right(wire, false);
  MadProber here(left, kSecrets, PortId(1)), there(right, kSecrets, PortId(2));
  const auto tally = StalledEnd(wire, there, milliseconds(10'000)).ping(here);
  EXPECT_NEAR(tally.answered, 80, 1);
  wire.now += milliseconds(10'000);
  ASSERT_TRUE(there.serve(Nanoseconds(0)));
  while (!wire.right.empty()) ASSERT_TRUE(there.serve(Nanoseconds(0)));
  const auto received = there.received(BatchId(3)).value().at(0);
  EXPECT_EQ(received.packets, 100u);
  EXPECT_EQ(received.late, 100 - tally.answered);
  EXPECT_EQ(received.unsent, 0u);
}

/// Answers questions to LID 7 but each tenth, and all others, by itself; and some that were not asked.
class Ports : public Mads {
 public:
  Result<void> send(const MadPacket& packet) override {
    const auto header = decode_mad_header(packet.bytes);
    EXPECT_EQ(header->mad_class, MadClass::performance);
    EXPECT_GT(packet.answer_wait, Nanoseconds(0)) << "the kernel hands over no answer that nobody waits for";
    if (std::get<Lid>(packet.to) == Lid(7) && ++to_seven_ % 10 == 0) return {};
    MadPacket answer = packet;
    answer.bytes[3] = std::byte{0x81};
    answers_.push_back({answer.bytes, false, Lid(7)});
    if (repeats) answers_.push_back(answers_.back());
    return {};
  }
  Result<std::optional<MadArrival>> receive(Nanoseconds at_most) override {
    if (answers_.empty()) {
      now_ += at_most;
      return std::nullopt;
    }
    const auto arrival = answers_.front();
    answers_.pop_front();
    return arrival;
  }
  Nanoseconds now() override { return now_; }
  bool repeats = false;

 private:
  std::deque<MadArrival> answers_;
  Nanoseconds now_{};
  unsigned to_seven_ = 0;
};

TEST(MadProber, CountsWhatPortsWithoutAnAgentAnswerOnceEach) {
  Ports ports;
  ports.repeats = true;
  MadProber prober(ports, kSecrets, PortId(1));
  auto asked = request(100);
  asked.by_management = true;
  asked.specs[1].count = 60;
  for (int i = 0; i < 2; ++i) {
    const auto tallies = prober.ping(asked, {});
    ASSERT_TRUE(tallies);
    EXPECT_EQ((*tallies)[0].sent, 100u);
    EXPECT_EQ((*tallies)[0].answered, 90u);
    EXPECT_EQ((*tallies)[1].sent, 60u);
    EXPECT_EQ((*tallies)[1].answered, 60u);
    EXPECT_FALSE((*tallies)[1].rtt) << "how long a port thinks is no matter of the network";
  }
}

TEST(MadProbe, RoundTripsAndIsRefusedWithAnotherKeyRunOrAnyBitChanged) {
  const MadProbe probe{.run = RunId(9),
                       .batch = BatchId(5),
                       .from = PortId(77),
                       .spec = 12,
                       .sequence = 99,
                       .back = Lid(513),
                       .sent = Nanoseconds(123456789)};
  auto bytes = encode_mad_probe(probe, kSecrets.key);
  EXPECT_EQ(decode_mad_probe(bytes, RunId(9), kSecrets.key), probe);
  EXPECT_FALSE(decode_mad_probe(bytes, RunId(8), kSecrets.key));
  EXPECT_FALSE(decode_mad_probe(bytes, RunId(9), packet::RunKey{}));
  for (std::size_t i = 40; i < 84; ++i) {
    auto changed = bytes;
    changed[i] ^= std::byte{4};
    EXPECT_FALSE(decode_mad_probe(changed, RunId(9), kSecrets.key)) << i;
  }
}

TEST(MadProber, LeavesTheLastRoundsOutWhereSendingFallsSecondsBehindItsPace) {
  Wire wire;
  wire.send_takes = milliseconds(20);  // twenty times what the pace allows for
  Wire::End left(wire, true), right(wire, false);
  MadProber here(left, kSecrets, PortId(1)), there(right, kSecrets, PortId(2));
  wire.other = &there;
  const auto tallies = here.ping(request(2000), {});  // 4 s by its pace, 80 s by its wire
  ASSERT_TRUE(tallies);
  EXPECT_LT(wire.now, milliseconds(4500));
  EXPECT_GT((*tallies)[0].sent, 20u);
  EXPECT_LT((*tallies)[0].sent, 200u);
  EXPECT_NEAR((*tallies)[1].sent, (*tallies)[0].sent, 1);
}

}  // namespace
}  // namespace weft::mad
