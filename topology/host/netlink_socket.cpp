#include "topology/host/netlink_socket.hpp"

#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>

namespace weft::host {
namespace {

constexpr timeval kAnswersWithin{.tv_sec = 0, .tv_usec = 500'000};

}  // namespace

NetlinkQuestion::NetlinkQuestion(std::uint16_t type, ByteSpan fixed, std::uint16_t flags)
    : bytes_(NLMSG_HDRLEN) {
  nlmsghdr header{};
  header.nlmsg_type = type;
  header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  std::memcpy(bytes_.data(), &header, sizeof header);
  append(fixed);
}

NetlinkQuestion& NetlinkQuestion::attribute(int type, ByteSpan payload) {
  nlattr header{};
  header.nla_type = static_cast<std::uint16_t>(type);
  header.nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + payload.size());
  append(std::as_bytes(std::span(&header, 1)));
  append(payload);
  return *this;
}

NetlinkQuestion& NetlinkQuestion::text(int type, const std::string& value) {
  return attribute(type, std::as_bytes(std::span(value.c_str(), value.size() + 1)));
}

ByteSpan NetlinkQuestion::attributes(std::size_t fixed) const {
  return ByteSpan(bytes_).subspan(NLMSG_HDRLEN + fixed);
}

ByteSpan NetlinkQuestion::finish() {
  const auto size = static_cast<std::uint32_t>(bytes_.size());
  std::memcpy(bytes_.data() + offsetof(nlmsghdr, nlmsg_len), &size, sizeof size);
  return bytes_;
}

void NetlinkQuestion::append(ByteSpan what) {
  bytes_.insert(bytes_.end(), what.begin(), what.end());
  bytes_.resize(NLMSG_ALIGN(bytes_.size()));
}

Result<os::FileDescriptor> open_netlink(int protocol) {
  os::FileDescriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  if (!socket) return fail(ErrorKind::absent, "no netlink socket: {}", std::strerror(errno));
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kAnswersWithin, sizeof kAnswersWithin);
  const int on = 1;
  ::setsockopt(socket.get(), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on);
  ::setsockopt(socket.get(), SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof on);
  return socket;
}

}  // namespace weft::host
