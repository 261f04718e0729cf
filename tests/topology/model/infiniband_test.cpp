#include "topology/model/infiniband.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(InfinibandGid, IsThePortsGuidBehindThePrefixOfEverySubnet) {
  const Guid port(0x0002'c903'0000'1491);
  EXPECT_EQ(to_string(gid_address(port)), "fe80::2:c903:0:1491");
  EXPECT_EQ(port_of_gid(gid_address(port)), port);
  EXPECT_EQ(port_of_gid(*IpAddress::parse("fd00:1:2:3:2:c903:0:1491")), port) << "another prefix";
  EXPECT_EQ(port_of_gid(*IpAddress::parse("10.0.1.1")), std::nullopt);
}

}  // namespace
}  // namespace weft
