#include "topology/host/nic_settings.hpp"

#include <gtest/gtest.h>
#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <cstring>

namespace weft::host {
namespace {

using Blob = std::vector<std::byte>;

template <class T>
Blob bytes_of(const T& value) {
  Blob bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
Blob operator+(Blob a, const Blob& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Blob attribute(int type, const Blob& payload) {
  nlattr header{static_cast<std::uint16_t>(NLA_HDRLEN + payload.size()), static_cast<std::uint16_t>(type)};
  auto bytes = bytes_of(header) + payload;
  bytes.resize(NLA_ALIGN(bytes.size()));
  return bytes;
}
Blob message(const Blob& attributes) {
  dcbmsg dcb{};
  dcb.cmd = DCB_CMD_IEEE_GET;
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + sizeof dcb + attributes.size());
  header.nlmsg_type = RTM_GETDCB;
  return bytes_of(header) + bytes_of(dcb) + attributes;
}
Blob app(int selector, int dscp, int priority) {
  return attribute(DCB_ATTR_IEEE_APP,
                   bytes_of(dcb_app{static_cast<std::uint8_t>(selector), static_cast<std::uint8_t>(priority),
                                    static_cast<std::uint16_t>(dscp)}));
}
/// As mlx5 answers: a name, then the IEEE attributes.
Blob answer(std::uint8_t pfc_mask, const Blob& apps) {
  ieee_pfc pfc{};
  pfc.pfc_cap = 8;
  pfc.pfc_en = pfc_mask;
  const auto name = Blob{std::byte{'e'}, std::byte{'0'}, std::byte{0}};
  return message(attribute(DCB_ATTR_IFNAME, name) +
                 attribute(DCB_ATTR_IEEE | NLA_F_NESTED, attribute(DCB_ATTR_IEEE_PFC, bytes_of(pfc)) +
                                                             attribute(DCB_ATTR_IEEE_APP_TABLE, apps)));
}

TEST(NicSettings, DcbTellsPausingPrioritiesAndTheDscpMap) {
  Blob apps = app(IEEE_8021QAZ_APP_SEL_DGRAM, 4791, 3);  // no DSCP: says nothing here
  for (int dscp = 24; dscp < 32; ++dscp) apps = apps + app(IEEE_8021QAZ_APP_SEL_DSCP, dscp, 3);
  apps = apps + app(IEEE_8021QAZ_APP_SEL_DSCP, 48, 6);
  const NicSettings expected{{"PFC priorities", "3"}, {"DSCP to priority", "24-31:3 48:6"}};
  EXPECT_EQ(decode_dcb(answer(1 << 3, apps)), expected);
  const NicSettings nothing{{"PFC priorities", "none"}, {"DSCP to priority", "none"}};
  EXPECT_EQ(decode_dcb(answer(0, {})), nothing);
}

TEST(NicSettings, APartOfAnAnswerTellsNoMoreThanItHolds) {
  const auto whole = answer(0xFF, app(IEEE_8021QAZ_APP_SEL_DSCP, 26, 3));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_LE(decode_dcb(ByteSpan(whole).first(size)).size(), 2u);
  auto other = whole;
  other[4] = std::byte{2};  // NLMSG_ERROR
  EXPECT_TRUE(decode_dcb(other).empty());
}

TEST(NicSettings, AnInterfaceWithoutDcbHasNone) {
  EXPECT_TRUE(settings_of_kernel("lo").empty());
  EXPECT_TRUE(settings_of_kernel("no-such-interface").empty());
  EXPECT_TRUE(settings_of_sysfs("/nowhere", "lo").empty());
}

}  // namespace
}  // namespace weft::host
