#include "probes/datapath/flow_sender.hpp"

#include <gtest/gtest.h>

#include "tests/fakes/fake_wire.hpp"

namespace weft::datapath {
namespace {

using fakes::FakeWire;
using fakes::Frame;
using fakes::Frames;
using std::chrono::milliseconds;

const packet::RunSecrets kSecrets{.run = RunId(7), .key = {std::byte{9}}};

class FlowSenderTest : public ::testing::TestWithParam<bool> {
 protected:
  FlowRequest request(std::vector<Bandwidth> rates) const {
    FlowRequest flows{
        .run = kSecrets.run, .batch = BatchId(4), .peers = {{PortId(2), wire.peer_nic().address}}};
    for (std::uint32_t i = 0; i < rates.size(); ++i)
      flows.specs.push_back({.label = PathLabel(50000 + i), .rate = rates[i]});
    return flows;
  }

  FakeWire wire{kSecrets, GetParam(), 3};
  FlowSender sender{wire, wire, wire.nic(), kSecrets, PortId(1)};
};
INSTANTIATE_TEST_SUITE_P(Families, FlowSenderTest, ::testing::Values(false, true),
                         [](const auto& family) { return family.param ? "IPv6" : "IPv4"; });

TEST_P(FlowSenderTest, EveryFlowKeepsItsOwnRate) {
  const auto tallies = sender.run(request({Bandwidth::mbit(50), Bandwidth::mbit(10)}), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  ASSERT_EQ(tallies->size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& tally = (*tallies)[i];
    EXPECT_EQ(tally.spec, i);
    EXPECT_EQ(tally.bytes, tally.packets * 4096);
    const double wanted = i == 0 ? 50e6 : 10e6;
    const auto offered = Bandwidth::over(Bytes(static_cast<std::int64_t>(tally.bytes - 4096)), tally.elapsed);
    EXPECT_NEAR(offered.bits_per_second() / wanted, 1.0, 0.02);
    EXPECT_LT(tally.longest_gap, milliseconds(4));
  }
}

TEST_P(FlowSenderTest, ThePeerCountsWhatWasSent) {
  const auto tallies =
      sender.run(request({Bandwidth::mbit(20), Bandwidth::mbit(20), Bandwidth::mbit(5)}), {});
  ASSERT_TRUE(tallies);
  const auto received = wire.responder().received(BatchId(4));
  ASSERT_EQ(received.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(received[i].spec, i);
    EXPECT_EQ(received[i].packets, (*tallies)[i].packets);
    EXPECT_EQ(received[i].bytes, (*tallies)[i].bytes);
    EXPECT_EQ(received[i].corrupt, 0u);
  }
}

TEST_P(FlowSenderTest, AStalledSenderShowsAsAGapAndDoesNotFlood) {
  std::size_t packets = 0;
  wire.outward = [&](Frame frame) {
    // After the tenth packet the host does nothing for 50 ms.
    if (++packets == 10) (void)wire.receive(wire.now() + milliseconds(50));
    return Frames{std::move(frame)};
  };
  const auto tallies = sender.run(request({Bandwidth::mbit(50)}), {});
  ASSERT_TRUE(tallies);
  EXPECT_GE((*tallies)[0].longest_gap, milliseconds(50));
  const auto full = 500.0 * 50e6 / 8e3 / 4096;
  const auto in_stall = 50.0 * 50e6 / 8e3 / 4096;
  EXPECT_NEAR(static_cast<double>((*tallies)[0].packets), full - in_stall, 8.0);
}

TEST_P(FlowSenderTest, WhatAFullQueueRefusesIsNotOffered) {
  wire.queue_room = 0;
  const auto tallies = sender.run(request({Bandwidth::mbit(50)}), {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[0].packets, 0u);
  EXPECT_TRUE(wire.responder().received(BatchId(4)).empty());
}

TEST_P(FlowSenderTest, AStopEndsTheRound) {
  std::stop_source stop;
  std::size_t packets = 0;
  wire.outward = [&](Frame frame) {
    if (++packets == 20) stop.request_stop();
    return Frames{std::move(frame)};
  };
  const auto tallies = sender.run(request({Bandwidth::mbit(50)}), stop.get_token());
  ASSERT_TRUE(tallies);
  EXPECT_LE((*tallies)[0].packets, 24u);
}

TEST_P(FlowSenderTest, ASizeTheNicCannotTakeLeavesTheOtherFlowsAlone) {
  auto flows = request({Bandwidth::mbit(20), Bandwidth::mbit(20)});
  flows.specs[0].size = Bytes(9100);
  const auto tallies = sender.run(flows, {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ((*tallies)[0].packets, 0u);
  EXPECT_GT((*tallies)[1].packets, 200u);
}

TEST_P(FlowSenderTest, RequestsThatMakeNoSenseAreRefused) {
  EXPECT_FALSE(sender.run(request({Bandwidth()}), {}));
  auto no_size = request({Bandwidth::mbit(1)});
  no_size.specs[0].size = Bytes(0);
  EXPECT_FALSE(sender.run(no_size, {}));
  EXPECT_FALSE(sender.run(request(std::vector(2000, Bandwidth::mbit(1))), {}));
  wire.reachable = false;
  EXPECT_FALSE(sender.run(request({Bandwidth::mbit(1)}), {}));
}

}  // namespace
}  // namespace weft::datapath
