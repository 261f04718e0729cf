#include "probes/nic/kernel_next_hops.hpp"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "topology/os/socket_address.hpp"

namespace weft::nic {
namespace {

constexpr UdpPort kDiscard{9};  // RFC 863
constexpr int kNudges = 4;      // datagrams that make the kernel look for a neighbour, 250 ms apart
constexpr int kLooks = 25;      // after each, 10 ms apart
constexpr std::size_t kReplySize = 4096;

/// One rtnetlink request: header, a fixed part, attributes.
class Request {
 public:
  template <class Body>
  Request(std::uint16_t type, const Body& body) {
    nlmsghdr header{};
    header.nlmsg_type = type;
    header.nlmsg_flags = NLM_F_REQUEST;
    std::memcpy(bytes_.data(), &header, sizeof header);
    size_ = NLMSG_HDRLEN;
    append(&body, sizeof body);
  }
  void attribute(std::uint16_t type, const void* data, std::size_t size) {
    const rtattr attribute{static_cast<std::uint16_t>(RTA_LENGTH(size)), type};
    append(&attribute, sizeof attribute);
    append(data, size);
  }
  ByteSpan finish() {
    const auto size = static_cast<std::uint32_t>(size_);
    std::memcpy(bytes_.data() + offsetof(nlmsghdr, nlmsg_len), &size, sizeof size);
    return ByteSpan(bytes_).first(size_);
  }

 private:
  void append(const void* data, std::size_t size) {
    WEFT_CHECK(size_ + size <= bytes_.size());
    std::memcpy(bytes_.data() + size_, data, size);
    size_ += NLMSG_ALIGN(size);
  }
  alignas(nlmsghdr) std::array<std::byte, 256> bytes_{};
  std::size_t size_ = 0;
};

/// The kernel's answer as it comes.
Result<std::vector<std::byte>> converse(const os::FileDescriptor& netlink, ByteSpan request) {
  if (::send(netlink.get(), request.data(), request.size(), 0) < 0)
    return fail(ErrorKind::internal, "cannot ask the kernel: {}", std::strerror(errno));
  pollfd ready{.fd = netlink.get(), .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, 1000) <= 0) return fail(ErrorKind::timeout, "the kernel does not answer");
  std::vector<std::byte> reply(kReplySize);
  const auto size = ::recv(netlink.get(), reply.data(), reply.size(), 0);
  reply.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return reply;
}

std::size_t address_size(const IpAddress& address) { return address.is_v6() ? 16 : 4; }
std::uint8_t family_of(const IpAddress& address) { return address.is_v6() ? AF_INET6 : AF_INET; }

}  // namespace

Result<KernelNextHops> KernelNextHops::open(const HostNic& nic, const KernelNic& kernel) {
  os::FileDescriptor netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!netlink) return fail(ErrorKind::absent, "no rtnetlink socket: {}", std::strerror(errno));
  os::FileDescriptor nudge(::socket(family_of(nic.address), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!nudge) return fail(ErrorKind::absent, "no UDP socket: {}", std::strerror(errno));
  ::setsockopt(nudge.get(), SOL_SOCKET, SO_BINDTODEVICE, nic.interface.data(),
               static_cast<socklen_t>(nic.interface.size()));
  return KernelNextHops(std::move(netlink), std::move(nudge), nic, kernel.index);
}

Result<RouteAnswer> KernelNextHops::ask_route(const IpAddress& destination, bool through_nic) {
  const auto bits = static_cast<unsigned char>(address_size(destination) * 8);
  rtmsg body{};
  body.rtm_family = family_of(destination);
  body.rtm_dst_len = bits;
  body.rtm_src_len = bits;
  Request request(RTM_GETROUTE, body);
  request.attribute(RTA_DST, destination.bytes().data(), address_size(destination));
  request.attribute(RTA_SRC, nic_.address.bytes().data(), address_size(nic_.address));
  if (through_nic) request.attribute(RTA_OIF, &index_, sizeof index_);
  const auto reply = converse(netlink_, request.finish());
  const auto way = reply ? decode_route_answer(*reply) : tl::unexpected(reply.error());
  if (!way)
    return fail(ErrorKind::absent, "no route from {} ({}) to {}: {}", nic_.interface, to_string(nic_.address),
                to_string(destination), way.error().message);
  return way;
}

Result<IpAddress> KernelNextHops::gateway_to(const IpAddress& destination) {
  // Asked for one interface, the kernel takes what has no route there for a neighbour; so that is not asked
  // first.
  auto way = ask_route(destination, false);
  if (way && way->interface != index_) way = ask_route(destination, true);
  if (!way) return pass_on(way);
  return way->gateway.value_or(destination);
}

std::optional<packet::MacAddress> KernelNextHops::neighbour(const IpAddress& address) {
  ndmsg body{};
  body.ndm_family = family_of(address);
  body.ndm_ifindex = index_;
  Request request(RTM_GETNEIGH, body);
  request.attribute(NDA_DST, address.bytes().data(), address_size(address));
  const auto reply = converse(netlink_, request.finish());
  return reply ? decode_neighbour_answer(*reply) : std::nullopt;
}

Result<packet::MacAddress> KernelNextHops::next_hop(const IpAddress& destination) {
  WEFT_TRY(const auto gateway, gateway_to(destination));
  if (const auto mac = neighbour(gateway)) return *mac;
  const auto target = os::socket_address(gateway, kDiscard, index_);
  for (int nudge = 0; nudge < kNudges; ++nudge) {
    ::sendto(nudge_.get(), nullptr, 0, MSG_DONTWAIT, target.get(), target.size);
    for (int look = 0; look < kLooks; ++look) {
      if (const auto mac = neighbour(gateway)) return *mac;
      std::this_thread::sleep_for(std::chrono::milliseconds(look == 0 ? 1 : 10));
    }
  }
  return fail(ErrorKind::absent, "{} does not answer on {}: the way to {} is down at its first hop",
              to_string(gateway), nic_.interface, to_string(destination));
}

}  // namespace weft::nic
