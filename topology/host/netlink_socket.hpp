// Asking the kernel by netlink: how a question is written, and the socket that it goes by. Nothing is changed
// by these.
#pragma once

#include <string>
#include <vector>

#include "topology/base/bytes.hpp"
#include "topology/base/result.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::host {

/// A question (NLM_F_REQUEST): header, a fixed part of the family, attributes.
class NetlinkQuestion {
 public:
  NetlinkQuestion(std::uint16_t type, ByteSpan fixed, std::uint16_t flags = 0);
  NetlinkQuestion& attribute(int type, ByteSpan payload);
  NetlinkQuestion& text(int type, const std::string& value);
  template <class T>
  NetlinkQuestion& number(int type, T value) {
    return attribute(type, std::as_bytes(std::span(&value, 1)));
  }
  /// Behind the header and so many bytes.
  ByteSpan attributes(std::size_t fixed) const;
  /// As it is sent.
  ByteSpan finish();

 private:
  void append(ByteSpan what);
  std::vector<std::byte> bytes_;
};

/// Of NETLINK_ROUTE and its like (socket(2)), with half a second's patience in recv. Error (absent): the
/// kernel has no such.
Result<os::FileDescriptor> open_netlink(int protocol);

}  // namespace weft::host
