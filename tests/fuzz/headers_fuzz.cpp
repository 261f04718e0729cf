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
  if (const auto ethernet = packet::decode_ethernet(bytes)) {
    WEFT_CHECK(encode_ethernet(ethernet->header, out) == ethernet->size);
    WEFT_CHECK(packet::decode_ethernet(out)->header == ethernet->header);
  }
  if (const auto ipv4 = decode_ipv4(bytes, packet::IpInput::quoted)) {
    encode_ipv4(ipv4->header, out);
    WEFT_CHECK(decode_ipv4(out, packet::IpInput::quoted)->header == ipv4->header);
  }
  if (const auto ipv6 = weft::packet::decode_ipv6(bytes); ipv6 && ipv6->size == packet::kIpv6Size) {
    weft::packet::encode_ipv6(ipv6->header, out);
    WEFT_CHECK(weft::packet::decode_ipv6(out, packet::IpInput::quoted)->header == ipv6->header);
  }
  if (const auto udp = packet::decode_udp(bytes)) {
    encode_udp(*udp, out);
    WEFT_CHECK(*packet::decode_udp(out) == *udp);
  }
  if (const auto bth = packet::decode_bth(bytes)) {
    encode_bth(*bth, out);
    WEFT_CHECK(*packet::decode_bth(out) == *bth);
  }
  if (const auto deth = packet::decode_deth(bytes)) {
    encode_deth(*deth, out);
    WEFT_CHECK(*packet::decode_deth(out) == *deth);
  }
}

void views(ByteSpan bytes) {
  for (const auto input : {packet::IpInput::whole, packet::IpInput::quoted}) {
    const auto ip = decode_ip(bytes, input);
    if (!ip) continue;
    WEFT_CHECK(ip->bytes.size() <= bytes.size() && ip->header_size + ip->payload.size() == ip->bytes.size());
    if (ip->header_size <= 60 && ip->payload.size() >= packet::kUdpSize + packet::kBthSize)
      (void)packet::compute_icrc(ip->bytes, ip->header_size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  round_trips(bytes);
  views(bytes);
  return 0;
}
