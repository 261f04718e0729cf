#include "probes/packet/roce.hpp"

#include <gtest/gtest.h>

namespace weft::packet {
namespace {

// Measured on soft-RoCE of Linux 6.1.
TEST(RoceLabel, GivesThePortsThatADeviceWasSeenToUse) {
  EXPECT_EQ(udp_port_of(1000), UdpPort(50152));
  EXPECT_EQ(udp_port_of(17388), UdpPort(50157));
}

TEST(RoceLabel, EveryPortOfTheRangeHasAFlowLabelThatIsNotZeroAndGivesItBack) {
  for (std::uint32_t port = 0xC000; port <= 0xFFFF; ++port) {
    const auto label = flow_label_for(UdpPort(static_cast<std::uint16_t>(port)));
    ASSERT_NE(label, 0u) << port;
    ASSERT_LT(label, 1u << 20) << port;
    ASSERT_EQ(udp_port_of(label), UdpPort(static_cast<std::uint16_t>(port)));
  }
}

TEST(RoceLabel, ADeviceThatChoosesSpreadsQueuePairsAndBothEndsAlike) {
  EXPECT_EQ(default_flow_label(QpNum(17), QpNum(40)), default_flow_label(QpNum(40), QpNum(17)));
  EXPECT_NE(default_flow_label(QpNum(17), QpNum(40)), default_flow_label(QpNum(18), QpNum(40)));
  // 0xABCDEF * 0x123456 = 0xC379AAAA8A4A; folded twice, 20 bits.
  const std::uint64_t product = 0xABCDEFULL * 0x123456ULL;
  std::uint64_t folded = product ^ product >> 20U;
  folded ^= folded >> 40U;
  EXPECT_EQ(default_flow_label(QpNum(0xABCDEF), QpNum(0x123456)), folded & 0xFFFFFU);
}

TEST(RoceMessage, OfOnePacketFillsItAndIsInWholeUnits) {
  constexpr Bytes kMtu(4096);
  EXPECT_EQ(one_packet_message(FlowOperation::write, Bytes(4096), kMtu, false), Bytes(4032));
  EXPECT_EQ(one_packet_message(FlowOperation::write, Bytes(4096), kMtu, true), Bytes(4016));
  EXPECT_EQ(one_packet_message(FlowOperation::send, Bytes(9000), kMtu, false), kMtu);
  EXPECT_EQ(one_packet_message(FlowOperation::write, Bytes(10), kMtu, false), Bytes(64));
  for (const bool v6 : {false, true}) {
    const Bytes message = one_packet_message(FlowOperation::write, Bytes(1500), Bytes(1024), v6);
    EXPECT_EQ(message_on_wire(FlowOperation::write, message, Bytes(1024), v6).packets, 1u);
  }
}

TEST(RoceMtu, LeavesRoomForAllHeadersInThePacketsOfItsInterface) {
  EXPECT_EQ(roce_mtu(Bytes(1500)), Bytes(1024));
  EXPECT_EQ(roce_mtu(Bytes(4200)), Bytes(4096));
  EXPECT_EQ(roce_mtu(Bytes(4191)), Bytes(2048));
  EXPECT_EQ(roce_mtu(Bytes(9000)), Bytes(4096));
  EXPECT_EQ(roce_mtu(Bytes(100)), Bytes(256));
}

}  // namespace
}  // namespace weft::packet
