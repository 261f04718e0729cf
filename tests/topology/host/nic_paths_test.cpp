#include "topology/host/nic_paths.hpp"

#include <gtest/gtest.h>

namespace weft::host {
namespace {

const IpAddress kHere = *IpAddress::parse("127.0.0.1");

Result<PathToNic> over_loopback(Bytes mtu) { return try_path(kHere, kHere, mtu); }

TEST(NicPaths, APacketOfFullSizeComesThroughTheLoopback) {
  const auto path = over_loopback(Bytes(1500));
  if (!path && path.error().kind == ErrorKind::permission) GTEST_SKIP() << path.error().message;
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(path->from, "127.0.0.1");
  EXPECT_EQ(path->to, "127.0.0.1");
  if (!path->small_answered) GTEST_SKIP() << "this host answers no ICMP echoes";
  EXPECT_EQ(path->full, Bytes(1500));
  EXPECT_TRUE(path->full_answered);
}

TEST(NicPaths, OfAnMtuNoLargerThanTheSmallPacketNoSecondOneIsSent) {
  const auto path = over_loopback(Bytes(64));
  if (!path && path.error().kind == ErrorKind::permission) GTEST_SKIP() << path.error().message;
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(path->full, std::nullopt);
  EXPECT_FALSE(path->full_answered);
}

TEST(NicPaths, AnAddressThatIsNotOfThisHostIsAbsent) {
  const auto path = try_path(*IpAddress::parse("192.0.2.1"), kHere, Bytes(1500));  // RFC 5737: of nobody
  ASSERT_FALSE(path);
  if (path.error().kind == ErrorKind::permission) GTEST_SKIP() << path.error().message;
  EXPECT_EQ(path.error().kind, ErrorKind::absent);
  EXPECT_NE(path.error().message.find("192.0.2.1"), std::string::npos);
}

}  // namespace
}  // namespace weft::host
