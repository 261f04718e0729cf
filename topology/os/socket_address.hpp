// IpAddress to the kernel's sockaddr, and back.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstring>
#include <optional>

#include "topology/base/ids.hpp"
#include "topology/base/ip.hpp"

namespace weft::os {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// `scope`: the interface index of a link-local IPv6 address.
inline SocketAddress socket_address(const IpAddress& address, UdpPort port, int scope = 0) {
  SocketAddress out;
  if (address.is_v6()) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port.value());
    std::memcpy(&v6.sin6_addr, address.bytes().data(), 16);
    if (IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) v6.sin6_scope_id = static_cast<std::uint32_t>(scope);
    std::memcpy(&out.storage, &v6, sizeof v6);
    out.size = sizeof v6;
  } else {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port.value());
    std::memcpy(&v4.sin_addr, address.bytes().data(), 4);
    std::memcpy(&out.storage, &v4, sizeof v4);
    out.size = sizeof v4;
  }
  return out;
}

/// Absent: it is no IP address.
inline std::optional<IpAddress> address_in(const sockaddr& given) {
  if (given.sa_family == AF_INET) {
    IpAddress::V4 bytes;
    std::memcpy(bytes.data(), reinterpret_cast<const std::byte*>(&given) + offsetof(sockaddr_in, sin_addr),
                bytes.size());
    return IpAddress(bytes);
  }
  if (given.sa_family != AF_INET6) return std::nullopt;
  IpAddress::V6 bytes;
  std::memcpy(bytes.data(), reinterpret_cast<const std::byte*>(&given) + offsetof(sockaddr_in6, sin6_addr),
              bytes.size());
  return IpAddress(bytes);
}

}  // namespace weft::os
