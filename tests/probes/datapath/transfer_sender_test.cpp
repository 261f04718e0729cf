#include "probes/datapath/transfer_sender.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "probes/datapath/sequence_window.hpp"
#include "tests/fakes/fake_wire.hpp"

namespace weft::datapath {
namespace {

using fakes::FakeWire;
using fakes::Frame;
using fakes::Frames;
using std::chrono::milliseconds;

const packet::RunSecrets kSecrets{.run = RunId(7), .key = {std::byte{9}}};

class TransferSenderTest : public ::testing::TestWithParam<bool> {
 protected:
  TransferRequest request(std::vector<std::uint32_t> packets) const {
    TransferRequest transfers{
        .run = kSecrets.run, .batch = BatchId(4), .peers = {{PortId(2), wire.peer_nic().address}}};
    for (std::uint32_t i = 0; i < packets.size(); ++i)
      transfers.specs.push_back({0, PathLabel(50000 + i), PathLabel(60000 + i), packets[i]});
    return transfers;
  }

  FakeWire wire{kSecrets, GetParam(), 3};
  TransferSender sender{wire, wire, wire.nic(), kSecrets, PortId(1)};
};
INSTANTIATE_TEST_SUITE_P(Families, TransferSenderTest, ::testing::Values(false, true),
                         [](const auto& family) { return family.param ? "IPv6" : "IPv4"; });

TEST_P(TransferSenderTest, ThePeerCountsExactlyWhatWasToBeDelivered) {
  const auto tallies = sender.run(request({300, 40, 1}), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  const auto received = wire.responder().received(BatchId(4));
  ASSERT_EQ(received.size(), 3u);
  const std::uint64_t wanted[] = {300, 40, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*tallies)[i].spec, i);
    EXPECT_EQ((*tallies)[i].sent, wanted[i]);
    EXPECT_EQ((*tallies)[i].delivered, wanted[i]);
    EXPECT_EQ(received[i].packets, wanted[i]);
    EXPECT_EQ(received[i].bytes, wanted[i] * 4096);
    EXPECT_GT((*tallies)[i].elapsed, Nanoseconds(0));
    ASSERT_TRUE((*tallies)[i].first);
    EXPECT_LE(*(*tallies)[i].first, (*tallies)[i].elapsed);
    EXPECT_GE((*tallies)[i].took.value(), (*tallies)[i].elapsed);
  }
  EXPECT_LE((*tallies)[2].elapsed, (*tallies)[0].elapsed);
}

TEST_P(TransferSenderTest, WhatIsLostIsSentAgainUntilEverythingIsDelivered) {
  int there = 0;
  int back = 0;
  wire.outward = [&](Frame frame) { return ++there % 10 == 3 ? Frames{} : Frames{std::move(frame)}; };
  wire.homeward = [&](Frame frame) { return ++back % 10 == 7 ? Frames{} : Frames{std::move(frame)}; };
  const auto tallies = sender.run(request({200, 200}), {});
  ASSERT_TRUE(tallies);
  for (const TransferTally& tally : *tallies) {
    EXPECT_EQ(tally.delivered, 200u);
    EXPECT_GT(tally.sent, 220u);
    EXPECT_LT(tally.sent, 400u);
  }
  for (const ReceivedTally& received : wire.responder().received(BatchId(4)))
    EXPECT_GE(received.packets, 200u) << "a lost acknowledgement is not a lost packet";
}

TEST_P(TransferSenderTest, NoMoreThanTheWindowIsOnItsWay) {
  wire.hop_time = milliseconds(10);  // no acknowledgement before 60 ms have passed
  auto transfers = request({100, 100});
  transfers.window = 6;
  transfers.limit = milliseconds(50);
  const auto tallies = sender.run(transfers, {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[0].sent, 3u);
  EXPECT_EQ((*tallies)[1].sent, 3u);
}

TEST_P(TransferSenderTest, EveryQpMayHaveOnePacketOnItsWayHoweverSmallTheWindow) {
  auto transfers = request({5, 5, 5, 5});
  transfers.window = 2;
  const auto tallies = sender.run(transfers, {});
  ASSERT_TRUE(tallies);
  for (const TransferTally& tally : *tallies) EXPECT_EQ(tally.delivered, 5u);
}

TEST_P(TransferSenderTest, OverADeadPathItEndsAtItsLimitAndDoesNotFlood) {
  wire.outward = [](Frame) { return Frames{}; };
  auto transfers = request({1000});
  transfers.limit = std::chrono::seconds(5);
  const auto begin = wire.now();
  const auto tallies = sender.run(transfers, {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[0].delivered, 0u);
  EXPECT_LE((*tallies)[0].sent, 8u * 10) << "silence is waited out for longer each time";
  EXPECT_GE(wire.now() - begin, std::chrono::seconds(5));
  EXPECT_LT(wire.now() - begin, std::chrono::seconds(6));
}

TEST_P(TransferSenderTest, AcknowledgementsTakeTheLabelAskedForAndAreSmall) {
  std::vector<std::size_t> sizes;
  std::set<std::uint16_t> ports;
  wire.homeward = [&](Frame frame) {
    sizes.push_back(frame.size());
    const auto packet = packet::decode_probe_frame(frame, kSecrets.key);
    EXPECT_TRUE(packet && packet->authentic && packet->intact);
    ports.insert(packet->label.value());
    return Frames{std::move(frame)};
  };
  ASSERT_TRUE(sender.run(request({20}), {}));
  ASSERT_EQ(sizes.size(), 20u);
  for (const std::size_t size : sizes)
    EXPECT_EQ(size, packet::kEthernetSize + packet::min_probe_size(GetParam()));
  EXPECT_EQ(ports, std::set<std::uint16_t>{60000});
}

TEST_P(TransferSenderTest, ForgedAcknowledgementsCountForNothing) {
  wire.outward = [](Frame) { return Frames{}; };
  wire.inject(Frame(200, std::byte{7}), milliseconds(1));
  auto transfers = request({3});
  transfers.limit = milliseconds(300);
  const auto tallies = sender.run(transfers, {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[0].delivered, 0u);
}

TEST_P(TransferSenderTest, AStopEndsIt) {
  std::stop_source stop;
  int frames = 0;
  wire.outward = [&](Frame frame) {
    if (++frames == 50) stop.request_stop();
    return Frames{std::move(frame)};
  };
  const auto tallies = sender.run(request({100'000}), stop.get_token());
  ASSERT_TRUE(tallies);
  EXPECT_LT((*tallies)[0].sent, 100u);
}

TEST_P(TransferSenderTest, RequestsThatMakeNoSenseAreRefused) {
  auto no_window = request({1});
  no_window.window = 0;
  EXPECT_FALSE(sender.run(no_window, {}));
  auto no_peer = request({1});
  no_peer.specs[0].peer = 9;
  EXPECT_FALSE(sender.run(no_peer, {}));
  auto no_port = request({1});
  no_port.specs[0].back_label = PathLabel(70000);
  EXPECT_FALSE(sender.run(no_port, {}));
  auto other_run = request({1});
  other_run.run = RunId(8);
  EXPECT_FALSE(sender.run(other_run, {}));
}

TEST(SendWindow, AnAcknowledgementCountsOnce) {
  SendWindow book(3);
  for (int i = 0; i < 3; ++i) book.sent(Nanoseconds(i));
  EXPECT_TRUE(book.acknowledged(1));
  EXPECT_FALSE(book.acknowledged(1));
  EXPECT_FALSE(book.acknowledged(3)) << "never sent";
  EXPECT_EQ(book.delivered(), 1u);
  EXPECT_EQ(book.may_send(8), 0u) << "the other two are on their way";
}

TEST(SendWindow, APacketThatThreeLaterOnesOvertookIsSentAgain) {
  SendWindow book(10);
  for (int i = 0; i < 5; ++i) book.sent(Nanoseconds(i));
  book.acknowledged(1);
  book.acknowledged(2);
  EXPECT_EQ(book.may_send(5), 2u);
  book.acknowledged(3);  // 0 is lost
  EXPECT_EQ(book.may_send(5), 4u);
  EXPECT_TRUE(book.acknowledged(0)) << "it was late after all";
  EXPECT_EQ(book.delivered(), 4u);
}

TEST(SendWindow, ASilenceGivesUpWhatIsOnItsWayAndWaitsLongerTheNextTime) {
  SendWindow book(10);
  book.sent(Nanoseconds(0));
  const auto first = book.patience_ends();
  EXPECT_FALSE(book.give_up(first - Nanoseconds(1)));
  EXPECT_TRUE(book.give_up(first));
  book.sent(first);
  EXPECT_GT(book.patience_ends() - first, first);
}

}  // namespace
}  // namespace weft::datapath
