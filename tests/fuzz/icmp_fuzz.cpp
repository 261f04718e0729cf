// ICMP and ICMPv6 errors in any IP packet: what decodes is written and read back the same, and its quote
// decodes or is refused.
#include <cstdint>
#include <vector>

#include "probes/packet/icmp.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  auto packet = decode_ip(std::as_bytes(std::span(data, size)), packet::IpInput::quoted);
  if (!packet) return 0;
  const auto error = decode_icmp(*packet);
  if (!error) return 0;
  (void)decode_ip(error->quoted, packet::IpInput::quoted);
  std::vector<std::byte> out(packet::kIcmpErrorSize + error->quoted.size());
  encode_icmp(*error, packet->source, packet->destination, out);
  packet->payload = out;
  const auto again = decode_icmp(*packet);
  WEFT_CHECK(again && again->kind == error->kind && again->code == error->code && again->mtu == error->mtu);
  return 0;
}
