#include "probes/packet/roce.hpp"

#include <gtest/gtest.h>

namespace weft {
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

}  // namespace
}  // namespace weft
