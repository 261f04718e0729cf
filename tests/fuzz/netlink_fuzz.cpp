// What the kernel answers over netlink: any bytes are read without harm as a route, a neighbour and the DCB
// attributes of an interface, and nothing is taken from beyond the message's own end.
#include <cstdint>
#include <cstring>
#include <vector>

#include "probes/nic/route_answers.hpp"
#include "topology/base/check.hpp"
#include "topology/host/nic_settings.hpp"

namespace {

using namespace weft;

/// The same message with other bytes behind the length that it states.
std::vector<std::byte> with_other_rest(ByteSpan message) {
  std::vector<std::byte> other(message.begin(), message.end());
  std::uint32_t length = 0;
  if (message.size() >= sizeof length) std::memcpy(&length, message.data(), sizeof length);
  for (std::size_t i = length; i < other.size(); ++i) other[i] ^= std::byte{0xFF};
  return other;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto message = std::as_bytes(std::span(data, size));
  const auto other = with_other_rest(message);
  const auto route = nic::decode_route_answer(message);
  const auto again = nic::decode_route_answer(other);
  WEFT_CHECK(route.has_value() == again.has_value());
  if (route) WEFT_CHECK(route->gateway == again->gateway && route->interface == again->interface);
  if (!route) WEFT_CHECK(!route.error().message.empty());
  const auto mac = nic::decode_neighbour_answer(message);
  const auto same = nic::decode_neighbour_answer(other);
  WEFT_CHECK(mac.has_value() == same.has_value() && (!mac || mac->bytes == same->bytes));
  for (const auto& [name, value] : host::decode_dcb(message)) WEFT_CHECK(!value.empty());
  return 0;
}
