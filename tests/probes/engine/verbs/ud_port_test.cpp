#include "probes/engine/verbs/ud_port.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/packet/roce.hpp"
#include "probes/run/engines.hpp"
#include "tests/fakes/fake_verbs.hpp"

namespace weft::verbs {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// Ports of two NICs whose devices label datagrams.
struct TwoUdPorts {
  std::vector<IpAddress> addresses{IpAddress(IpAddress::V4{10, 0, 1, 1}),
                                   IpAddress(IpAddress::V4{10, 0, 2, 1})};
  fakes::FakeVerbs fake{addresses};
  std::unique_ptr<UdPort> near, far;

  TwoUdPorts() {
    for (const std::size_t device : {0, 1}) fake.drive(device, rdma::RdmaDriver::mlx5);
    near = open(0).value();
    far = open(1).value();
    meet();
  }
  Result<std::unique_ptr<UdPort>> open(
      std::size_t device, datapath::ProbeTransport probes = datapath::ProbeTransport::by_device) {
    return open_ud_port(
        fake.library(),
        {.gid = {addresses[device], ""}, .traffic = {104, 0}, .memory = run::host_memory, .probes = probes});
  }
  void meet() {
    near->know({{addresses[1], far->pair()}});
    far->know({{addresses[0], near->pair()}});
    EXPECT_TRUE(near->next_hops()->next_hop(addresses[1]));
    EXPECT_TRUE(far->next_hops()->next_hop(addresses[0]));
  }
  std::vector<std::byte> frame(std::size_t to, std::uint32_t label, std::byte fill = {},
                               std::size_t payload = 88) const {
    std::vector<std::byte> made(packet::kUdHeader + payload, fill);
    packet::put_ud_target({addresses[to], PathLabel(label)}, made);
    return made;
  }
  std::size_t send(const std::vector<std::byte>& one, std::size_t times = 1) {
    const std::vector<ByteSpan> frames(times, ByteSpan(one));
    const auto sent = near->send(frames);
    EXPECT_TRUE(sent) << sent.error().message;
    return sent ? sent->taken : 0;
  }
};

std::vector<std::byte> payload_of(const datapath::Arrival& arrival) {
  const auto payload = arrival.frame.subspan(packet::kUdHeader);
  return {payload.begin(), payload.end()};
}

TEST(UdPort, CarriesPayloadsToTheNicOfTheAddressWithTheLabelOfTheFrame) {
  TwoUdPorts ports;
  EXPECT_EQ(ports.send(ports.frame(1, 50'000, std::byte{7})), 1u);
  EXPECT_EQ(ports.send(ports.frame(1, 50'001, std::byte{8})), 1u);
  const auto came = ports.far->receive(0ns);
  ASSERT_TRUE(came);
  ASSERT_EQ(came->size(), 2u);
  EXPECT_EQ(payload_of((*came)[0]), std::vector<std::byte>(88, std::byte{7}));
  EXPECT_EQ(payload_of((*came)[1]), std::vector<std::byte>(88, std::byte{8}));
  std::set<std::uint32_t> labels;
  for (const auto& mark : ports.fake.marks()) {
    labels.insert(mark.flow_label);
    EXPECT_EQ(mark.traffic_class, 104);
  }
  EXPECT_EQ(labels, (std::set<std::uint32_t>{packet::flow_label_for(UdpPort(50'000)),
                                             packet::flow_label_for(UdpPort(50'001))}));
  EXPECT_TRUE(ports.near->receive(0ns)->empty()) << "completions of its own are no arrivals";
}

TEST(UdPort, GoesOnForLongerThanItHasPlaces) {
  TwoUdPorts ports;
  for (int round = 0; round < 50; ++round) {
    EXPECT_EQ(ports.send(ports.frame(1, 50'000), 32), 32u);
    EXPECT_EQ(ports.far->receive(0ns)->size(), 32u);
  }
  EXPECT_EQ(ports.far->overruns(), 0u);
}

TEST(UdPort, WhatComesWhileNobodyReadsIsToldAsOverrunAndNotAsLossAndReadingGoesOn) {
  TwoUdPorts ports;
  for (int round = 0; round < 10; ++round) EXPECT_EQ(ports.send(ports.frame(1, 50'000), 32), 32u);
  std::size_t came = 0;
  for (int i = 0; i < 20; ++i) came += ports.far->receive(0ns)->size();
  EXPECT_EQ(came, 256u) << "the device dropped the others";
  EXPECT_GT(ports.far->overruns(), 0u);
  EXPECT_EQ(ports.far->overruns(), 0u) << "told once";
  ports.send(ports.frame(1, 50'000), 3);
  EXPECT_EQ(ports.far->receive(0ns)->size(), 3u);
}

TEST(UdPort, TakesNothingForPeersThatItDoesNotKnowOrWhoseNeighbourNobodyFound) {
  TwoUdPorts ports;
  EXPECT_EQ(ports.send(ports.frame(0, 50'000)), 0u);
  const auto peer = *IpAddress::parse("10.0.3.1");
  ports.near->know({{ports.addresses[1], ports.far->pair()}, {peer, ports.far->pair()}});
  std::vector<std::byte> frame = ports.frame(1, 50'000);
  packet::put_ud_target({peer, PathLabel(50'000)}, frame);
  EXPECT_EQ(ports.send(frame), 0u);
  ASSERT_TRUE(ports.near->next_hops()->next_hop(peer));
  EXPECT_EQ(ports.send(frame), 1u);
  const auto large = ports.frame(1, 50'000, {}, 5000);
  const std::vector<ByteSpan> frames{large};
  EXPECT_TRUE(ports.near->send(frames)->too_large);
}

TEST(UdPort, APeerThatComesBackWithAnotherQueuePairIsReachedOnceThatIsKnown) {
  TwoUdPorts ports;
  EXPECT_EQ(ports.send(ports.frame(1, 50'000)), 1u);
  ports.far.reset();
  ports.far = ports.open(1).value();
  EXPECT_EQ(ports.send(ports.frame(1, 50'000)), 1u);
  EXPECT_TRUE(ports.far->receive(0ns)->empty()) << "it went to the queue pair that is gone";
  ports.meet();
  EXPECT_EQ(ports.send(ports.frame(1, 50'000)), 1u);
  EXPECT_EQ(ports.far->receive(0ns)->size(), 1u);
}

TEST(UdPort, AnotherQKeyIsDropped) {
  TwoUdPorts ports;
  auto pair = ports.far->pair();
  pair.key = packet::QueueKey(pair.key.value() ^ 1);
  ports.near->know({{ports.addresses[1], pair}});
  EXPECT_EQ(ports.send(ports.frame(1, 50'000)), 1u);
  EXPECT_TRUE(ports.far->receive(0ns)->empty());
}

TEST(UdPort, ADeviceThatFailsIsAnErrorFromThenOnAndNoFrameIsTaken) {
  for (const bool overruns : {false, true}) {
    TwoUdPorts ports;
    if (overruns)
      ports.fake.shrink_queues(4), ports.near = ports.open(0).value(), ports.meet();
    else
      ports.fake.end_with(0, 15);  // IBV_WC_LOC_EEC... of this device: whatever it is, nothing left
    const auto frame = ports.frame(1, 50'000);
    const std::vector<ByteSpan> frames(16, ByteSpan(frame));
    static_cast<void>(ports.near->send(frames));
    for (int i = 0; i < 2; ++i) {
      const auto sent = ports.near->send(frames);
      ASSERT_FALSE(sent) << overruns;
      EXPECT_THAT(sent.error().message, HasSubstr("fake0"));
      EXPECT_FALSE(ports.near->receive(0ns));
    }
    EXPECT_TRUE(ports.open(0)) << "it can be opened anew";
  }
}

TEST(UdPort, WhatTheDeviceHasNoPlaceForIsNotTakenAndItsWorkGoesOn) {
  TwoUdPorts ports;
  ports.fake.refuse(fakes::FakeVerbs::Call::post_send, ENOMEM, 2);
  EXPECT_EQ(ports.send(ports.frame(1, 50'000), 5), 2u);
  EXPECT_EQ(ports.send(ports.frame(1, 50'000), 5), 5u);
}

TEST(UdPort, IsOpenedWhereLabelsAreFollowedAlone) {
  fakes::FakeVerbs fake({IpAddress(IpAddress::V4{10, 0, 1, 1})});
  const auto open = [&](datapath::ProbeTransport probes,
                        IpAddress address = IpAddress(IpAddress::V4{10, 0, 1, 1}),
                        std::optional<std::uint32_t> index = {}) {
    return open_ud_port(
        fake.library(),
        {.gid = {address, "", index}, .traffic = {}, .memory = run::host_memory, .probes = probes});
  };
  using enum datapath::ProbeTransport;
  EXPECT_THAT(open(by_device).error().message, HasSubstr("not known to label them"));
  EXPECT_TRUE(open(datagram)) << "who runs it knows better";
  fake.drive(0, rdma::RdmaDriver::soft_roce);
  EXPECT_THAT(open(datagram).error().message, HasSubstr("soft-RoCE gives them the port"));
  fake.drive(0, rdma::RdmaDriver::mlx5);
  EXPECT_THAT(open(connected).error().message, HasSubstr("are datagrams (UD)"));
  const auto elsewhere = IpAddress(IpAddress::V4{10, 0, 9, 9});
  EXPECT_EQ(open(by_device, elsewhere).error().kind, ErrorKind::absent);
  EXPECT_EQ(fake.held(), 0u) << "what was refused is given back";
  fake.join_subnet(0, {Lid(4), 0});
  EXPECT_FALSE(open(by_device));
}

TEST(UdPort, GivesBackAllThatItTook) {
  TwoUdPorts ports;
  ports.send(ports.frame(1, 50'000), 5);
  ports.near.reset();
  ports.far.reset();
  EXPECT_EQ(ports.fake.held(), 0u);
}

}  // namespace
}  // namespace weft::verbs
