// Netlink messages as the kernel builds them, piece by piece.
#pragma once

#include <linux/genetlink.h>
#include <linux/netlink.h>

#include <cstdint>
#include <span>
#include <vector>

#include "topology/base/bytes.hpp"

namespace weft::fakes {

class NetlinkBytes {
 public:
  template <class T>
  NetlinkBytes& value(const T& what) {
    return append(std::as_bytes(std::span(&what, 1)));
  }
  template <class T>
  NetlinkBytes& attribute(int type, const T& what) {
    return raw(type, std::as_bytes(std::span(&what, 1)));
  }
  NetlinkBytes& nest(int type, const NetlinkBytes& inner) { return raw(type | NLA_F_NESTED, inner.bytes_); }
  /// All of it behind a header.
  std::vector<std::byte> message(std::uint16_t type) const {
    NetlinkBytes whole;
    whole.value(nlmsghdr{static_cast<std::uint32_t>(NLMSG_HDRLEN + bytes_.size()), type, 0, 0, 0})
        .append(bytes_);
    return whole.bytes_;
  }

 private:
  NetlinkBytes& raw(int type, ByteSpan payload) {
    value(nlattr{static_cast<std::uint16_t>(NLA_HDRLEN + payload.size()), static_cast<std::uint16_t>(type)});
    return append(payload);
  }
  NetlinkBytes& append(ByteSpan what) {
    bytes_.insert(bytes_.end(), what.begin(), what.end());
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
    return *this;
  }
  std::vector<std::byte> bytes_;
};

/// The beginning of a message of a generic family.
inline NetlinkBytes generic_netlink(std::uint8_t command) {
  NetlinkBytes bytes;
  bytes.value(genlmsghdr{command, 1, 0});
  return bytes;
}

}  // namespace weft::fakes
