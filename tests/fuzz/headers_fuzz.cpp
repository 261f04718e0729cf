// Every header codec on any bytes: what decodes is written and read back the same.
#include <array>
#include <cstdint>

#include "probes/packet/bth.hpp"
#include "probes/packet/ethernet.hpp"
#include "probes/packet/icrc.hpp"
#include "probes/packet/ip_packet.hpp"
#include "probes/packet/udp.hpp"

namespace {

using namespace weft;

void round_trips(ByteSpan bytes) {
  std::array<std::byte, 64> out{};
  if (const auto ethernet = decode_ethernet(bytes)) {
    WEFT_CHECK(encode_ethernet(ethernet->header, out) == ethernet->size);
    WEFT_CHECK(decode_ethernet(out)->header == ethernet->header);
  }
  if (const auto ipv4 = decode_ipv4(bytes, IpInput::quoted)) {
    encode_ipv4(ipv4->header, out);
    WEFT_CHECK(decode_ipv4(out, IpInput::quoted)->header == ipv4->header);
  }
  if (const auto ipv6 = decode_ipv6(bytes); ipv6 && ipv6->size == kIpv6Size) {
    encode_ipv6(ipv6->header, out);
    WEFT_CHECK(decode_ipv6(out, IpInput::quoted)->header == ipv6->header);
  }
  if (const auto udp = decode_udp(bytes)) {
    encode_udp(*udp, out);
    WEFT_CHECK(*decode_udp(out) == *udp);
  }
  if (const auto bth = decode_bth(bytes)) {
    encode_bth(*bth, out);
    WEFT_CHECK(*decode_bth(out) == *bth);
  }
  if (const auto deth = decode_deth(bytes)) {
    encode_deth(*deth, out);
    WEFT_CHECK(*decode_deth(out) == *deth);
  }
}

void views(ByteSpan bytes) {
  for (const auto input : {IpInput::whole, IpInput::quoted}) {
    const auto ip = decode_ip(bytes, input);
    if (!ip) continue;
    WEFT_CHECK(ip->bytes.size() <= bytes.size() && ip->header_size + ip->payload.size() == ip->bytes.size());
    if (ip->header_size <= 60 && ip->payload.size() >= kUdpSize + kBthSize)
      (void)compute_icrc(ip->bytes, ip->header_size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  round_trips(bytes);
  views(bytes);
  return 0;
}
