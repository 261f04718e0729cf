#include "topology/base/ip.hpp"

#include <arpa/inet.h>

#include <cstring>

namespace weft {

Result<IpAddress> IpAddress::parse(std::string_view text) {
  const std::string copy(text);
  V4 v4;
  if (inet_pton(AF_INET, copy.c_str(), v4.data()) == 1) return IpAddress(v4);
  V6 v6;
  if (inet_pton(AF_INET6, copy.c_str(), v6.data()) == 1) return IpAddress(v6);
  return fail(ErrorKind::invalid_input, "'{}' is no IP address: expected IPv4 or IPv6 in text form", text);
}

std::string to_string(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN];
  inet_ntop(address.is_v6() ? AF_INET6 : AF_INET, address.bytes().data(), text, sizeof text);
  return text;
}

}  // namespace weft

std::size_t std::hash<weft::IpAddress>::operator()(const weft::IpAddress& address) const noexcept {
  std::uint64_t high;
  std::uint64_t low;
  std::memcpy(&high, address.bytes().data(), 8);
  std::memcpy(&low, address.bytes().data() + 8, 8);
  // Fibonacci multipliers spread the few bits in which neighbours differ.
  return (high * 0x9E3779B97F4A7C15ull) ^ (low * 0xC2B2AE3D27D4EB4Full) ^
         static_cast<std::uint64_t>(address.is_v6());
}
