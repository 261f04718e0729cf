// DCB over rtnetlink, as far as it is asked here: the IEEE attributes of one interface (linux/dcbnl.h).
#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cstring>

#include "topology/host/netlink_attributes.hpp"
#include "topology/host/nic_settings.hpp"
#include "topology/host/sysfs_values.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::host {
namespace {

constexpr std::size_t kHeaders = NLMSG_HDRLEN + sizeof(dcbmsg);
constexpr std::uint8_t kFamily = AF_UNSPEC;
constexpr timeval kPatience{.tv_sec = 0, .tv_usec = 500'000};  // the kernel answers at once, or not at all

/// The priorities of a mask: "3", "none".
std::string priorities(std::uint8_t mask) {
  std::vector<std::uint32_t> on;
  for (std::uint32_t priority = 0; priority < 8; ++priority)
    if ((mask >> priority & 1) != 0) on.push_back(priority);
  return on.empty() ? "none" : to_ranges(on);
}

/// "24-31:3 48:6": the DSCPs of each priority. A DSCP that maps twice counts for the higher, as the kernel
/// does.
std::string dscp_map(ByteSpan table) {
  std::array<std::vector<std::uint32_t>, 8> by_priority;
  std::array<int, 64> of_dscp{};
  of_dscp.fill(-1);
  for_each_attribute(table, [&](int type, ByteSpan payload) {
    const auto app = value_at<dcb_app>(payload, 0);
    if (type != DCB_ATTR_IEEE_APP || !app || app->selector != IEEE_8021QAZ_APP_SEL_DSCP) return;
    if (app->protocol < of_dscp.size() && app->priority < by_priority.size())
      of_dscp[app->protocol] = std::max<int>(of_dscp[app->protocol], app->priority);
  });
  for (std::uint32_t dscp = 0; dscp < of_dscp.size(); ++dscp)
    if (of_dscp[dscp] >= 0) by_priority[static_cast<std::size_t>(of_dscp[dscp])].push_back(dscp);
  std::string text;
  for (std::size_t priority = 0; priority < by_priority.size(); ++priority)
    if (!by_priority[priority].empty())
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ", to_ranges(by_priority[priority]), priority);
  return text.empty() ? "none" : text;
}

void read_ieee(ByteSpan attributes, NicSettings& settings) {
  for_each_attribute(attributes, [&](int type, ByteSpan payload) {
    if (type == DCB_ATTR_IEEE_PFC)
      if (const auto enabled = value_at<std::uint8_t>(payload, offsetof(ieee_pfc, pfc_en)))
        settings["PFC priorities"] = priorities(*enabled);
    if (type == DCB_ATTR_IEEE_APP_TABLE) settings["DSCP to priority"] = dscp_map(payload);
  });
}

std::vector<std::byte> question(const std::string& interface) {
  std::vector<std::byte> bytes(kHeaders + NLA_HDRLEN + NLA_ALIGN(interface.size() + 1));
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(bytes.size());
  header.nlmsg_type = RTM_GETDCB;
  header.nlmsg_flags = NLM_F_REQUEST;
  dcbmsg dcb{};
  dcb.dcb_family = kFamily;
  dcb.cmd = DCB_CMD_IEEE_GET;
  nlattr name{};
  name.nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + interface.size() + 1);
  name.nla_type = DCB_ATTR_IFNAME;
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + NLMSG_HDRLEN, &dcb, sizeof dcb);
  std::memcpy(bytes.data() + kHeaders, &name, sizeof name);
  std::memcpy(bytes.data() + kHeaders + NLA_HDRLEN, interface.c_str(), interface.size() + 1);
  return bytes;
}

}  // namespace

NicSettings decode_dcb(ByteSpan message) {
  NicSettings settings;
  const auto header = value_at<nlmsghdr>(message, 0);
  const auto dcb = value_at<dcbmsg>(message, NLMSG_HDRLEN);
  if (!header || !dcb || header->nlmsg_type != RTM_GETDCB || dcb->cmd != DCB_CMD_IEEE_GET) return settings;
  if (header->nlmsg_len < kHeaders || header->nlmsg_len > message.size()) return settings;
  for_each_attribute(message.subspan(kHeaders, header->nlmsg_len - kHeaders),
                     [&](int type, ByteSpan payload) {
                       if (type == DCB_ATTR_IEEE) read_ieee(payload, settings);
                     });
  return settings;
}

NicSettings settings_of_kernel(const std::string& interface) {
  const os::FileDescriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket || interface.size() >= IFNAMSIZ) return {};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  const auto asked = question(interface);
  if (::send(socket.get(), asked.data(), asked.size(), 0) < 0) return {};
  std::vector<std::byte> answer(65536);
  const auto size = ::recv(socket.get(), answer.data(), answer.size(), 0);
  return size > 0 ? decode_dcb(ByteSpan(answer).first(static_cast<std::size_t>(size))) : NicSettings();
}

}  // namespace weft::host
