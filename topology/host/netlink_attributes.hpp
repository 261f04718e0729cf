// The attributes of netlink messages (linux/netlink.h): type, length and payload, one after another, in the
// byte order of the host. Nothing beyond the bytes given is read. Pure.
#pragma once

#include <cstring>
#include <functional>
#include <optional>

#include "topology/base/bytes.hpp"

namespace weft::host {

template <class T>
std::optional<T> value_at(ByteSpan bytes, std::size_t offset) {
  if (bytes.size() < offset || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// Calls `visit(type, payload)` for each attribute; stops at the first that does not fit.
void for_each_attribute(ByteSpan bytes, const std::function<void(int, ByteSpan)>& visit);

}  // namespace weft::host
