#include "probes/rdma/gid_choice.hpp"

#include <gmock/gmock.h>

namespace weft::rdma {
namespace {

using ::testing::HasSubstr;

const IpAddress kV4 = *IpAddress::parse("10.0.1.1");
const IpAddress kV6 = *IpAddress::parse("fd00::11");

GidEntry entry(std::uint32_t index, const char* address, GidKind kind = GidKind::roce_v2,
               const char* netdev = "eth0", const char* device = "mlx5_0") {
  return {device, 1, index, gid_of(*IpAddress::parse(address)), kind, netdev};
}

/// A ConnectX with an IPv4 and an IPv6 address on its interface and another of a VLAN on it.
std::vector<GidEntry> table() {
  return {entry(0, "fe80::1", GidKind::roce_v1),
          entry(1, "fe80::1"),
          entry(2, "10.0.1.1", GidKind::roce_v1),
          entry(3, "10.0.1.1"),
          entry(4, "fd00::11"),
          entry(5, "10.9.1.1", GidKind::roce_v2, "eth0.100")};
}

TEST(GidChoice, IsTheRoceV2EntryOfTheNicsAddressOfEitherFamily) {
  const auto v4 = choose_gid(table(), {kV4, "eth0"});
  EXPECT_EQ(describe(v4.value()),
            "mlx5_0 port 1, GID 3 (RoCE v2, ::ffff:10.0.1.1, of eth0): the NIC's address");
  EXPECT_EQ(choose_gid(table(), {kV6, "eth0"}).value().entry.index, 4u);
}

TEST(GidChoice, OfAVlanSaysWhoseAddressItIs) {
  const auto choice = choose_gid(table(), {*IpAddress::parse("10.9.1.1"), "eth0.100"});
  EXPECT_THAT(describe(choice.value()), HasSubstr("of eth0.100"));
}

TEST(GidChoice, OfSeveralWithOneAddressIsThatOfTheNicsInterface) {
  const std::vector<GidEntry> two{entry(1, "10.0.1.1", GidKind::roce_v2, "eth0", "mlx5_0"),
                                  entry(1, "10.0.1.1", GidKind::roce_v2, "eth1", "mlx5_1")};
  const auto choice = choose_gid(two, {kV4, "eth1"});
  EXPECT_EQ(choice.value().entry.device, "mlx5_1");
  EXPECT_THAT(choice->why, HasSubstr("the one of its interface"));
  EXPECT_EQ(choose_gid(two, {kV4, ""}).value().entry.device, "mlx5_0");
}

TEST(GidChoice, ByIndexIsWhateverStandsThereOfTheNicsDevice) {
  const auto choice = choose_gid(table(), {kV4, "eth0", 4});
  EXPECT_EQ(choice.value().entry.gid, gid_of(kV6));
  EXPECT_EQ(choice->why, "its index was asked for");
}

TEST(GidChoice, ByAnIndexOfRoceV1OrOfNothingIsRefused) {
  const auto v1 = choose_gid(table(), {kV4, "eth0", 2});
  ASSERT_FALSE(v1);
  EXPECT_THAT(v1.error().message, HasSubstr("choose the index of a RoCE v2 GID"));
  const auto none = choose_gid(table(), {kV4, "eth0", 77});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("has no GID 77"));
}

TEST(GidChoice, OfAnInfinibandPortIsThatWithItsGuidWhateverTheSubnetsPrefix) {
  const auto port = *IpAddress::parse("fe80::2:c903:0:1491");
  const std::vector<GidEntry> two{entry(0, "fd00:1:2:3:2:c903:0:1490", GidKind::infiniband, "", "mlx5_0"),
                                  entry(0, "fd00:1:2:3:2:c903:0:1491", GidKind::infiniband, "", "mlx5_1")};
  EXPECT_EQ(choose_gid(two, {port, ""}).value().entry.device, "mlx5_1");
  EXPECT_FALSE(choose_gid(two, {kV4, "eth0"})) << "no GUID";
}

TEST(GidChoice, WithoutTheAddressSaysWhatThereIs) {
  const auto missing = choose_gid(table(), {*IpAddress::parse("10.0.1.2"), "eth0"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::absent);
  EXPECT_THAT(missing.error().message,
              HasSubstr("no RDMA device has 10.0.1.2 as a RoCE v2 or InfiniBand GID; there is mlx5_0"));
  EXPECT_FALSE(choose_gid({entry(2, "10.0.1.1", GidKind::roce_v1)}, {kV4, "eth0"})) << "not routed";
}

TEST(Gid, OfAnIpv4AddressIsItsMappedForm) {
  EXPECT_EQ(gid_of(*IpAddress::parse("10.0.1.2")),
            (Gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 1, 2}));
  EXPECT_EQ(gid_text(gid_of(kV6)), "fd00::11");
}

}  // namespace
}  // namespace weft::rdma
