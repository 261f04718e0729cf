#include "probes/nic/route_answers.hpp"

#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weft::nic {
namespace {

/// The message that the bytes begin with, and no byte beyond it.
Result<ByteSpan> one_message(ByteSpan bytes) {
  nlmsghdr header{};
  if (bytes.size() < sizeof header) return fail(ErrorKind::invalid_input, "cut short");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.nlmsg_len < sizeof header || header.nlmsg_len > bytes.size())
    return fail(ErrorKind::invalid_input, "{} bytes of {}", bytes.size(), header.nlmsg_len);
  const auto message = bytes.first(header.nlmsg_len);
  if (header.nlmsg_type != NLMSG_ERROR) return message;
  int error = 0;
  if (message.size() < NLMSG_HDRLEN + sizeof error) return fail(ErrorKind::invalid_input, "cut short");
  std::memcpy(&error, message.data() + NLMSG_HDRLEN, sizeof error);
  return fail(ErrorKind::absent, "{}", std::strerror(error <= 0 && error > -4096 ? -error : EPROTO));
}

/// The value of the first attribute of `type` behind the fixed part of `body` bytes.
std::optional<ByteSpan> attribute_of(ByteSpan message, std::size_t body, std::uint16_t type) {
  std::size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(body);
  while (at + sizeof(rtattr) <= message.size()) {
    rtattr attribute{};
    std::memcpy(&attribute, message.data() + at, sizeof attribute);
    if (attribute.rta_len < sizeof attribute || at + attribute.rta_len > message.size()) break;
    if (attribute.rta_type == type)
      return message.subspan(at + RTA_LENGTH(0), attribute.rta_len - RTA_LENGTH(0));
    at += RTA_ALIGN(attribute.rta_len);
  }
  return std::nullopt;
}

std::optional<IpAddress> to_address(ByteSpan bytes) {
  if (bytes.size() == 4) {
    IpAddress::V4 v4;
    std::memcpy(v4.data(), bytes.data(), 4);
    return IpAddress(v4);
  }
  if (bytes.size() != 16) return std::nullopt;
  IpAddress::V6 v6;
  std::memcpy(v6.data(), bytes.data(), 16);
  return IpAddress(v6);
}

}  // namespace

Result<RouteAnswer> decode_route_answer(ByteSpan bytes) {
  WEFT_TRY(const auto message, one_message(bytes));
  RouteAnswer way;
  if (const auto gateway = attribute_of(message, sizeof(rtmsg), RTA_GATEWAY))
    way.gateway = to_address(*gateway);
  const auto interface = attribute_of(message, sizeof(rtmsg), RTA_OIF);
  if (interface && interface->size() == sizeof way.interface)
    std::memcpy(&way.interface, interface->data(), sizeof way.interface);
  return way;
}

std::optional<packet::MacAddress> decode_neighbour_answer(ByteSpan bytes) {
  constexpr int known = NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY;
  const auto message = one_message(bytes);
  ndmsg body{};
  if (!message || message->size() < NLMSG_HDRLEN + sizeof body) return std::nullopt;
  std::memcpy(&body, message->data() + NLMSG_HDRLEN, sizeof body);
  const auto mac = attribute_of(*message, sizeof body, NDA_LLADDR);
  if ((body.ndm_state & known) == 0 || !mac || mac->size() != 6) return std::nullopt;
  packet::MacAddress found;
  std::memcpy(found.bytes.data(), mac->data(), 6);
  return found;
}

}  // namespace weft::nic
