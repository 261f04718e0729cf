#include "probes/packet/udp.hpp"

namespace weft::packet {

Result<UdpHeader> decode_udp(ByteSpan bytes) {
  if (auto enough = need_bytes(bytes, kUdpSize, "UDP header"); !enough) return pass_on(enough);
  const UdpHeader header{.source = UdpPort(load_be16(bytes, 0)),  // offsets: RFC 768
                         .destination = UdpPort(load_be16(bytes, 2)),
                         .length = load_be16(bytes, 4),
                         .checksum = load_be16(bytes, 6)};
  if (header.length < kUdpSize) return fail(ErrorKind::invalid_input, "UDP length {} below 8", header.length);
  return header;
}

void encode_udp(const UdpHeader& header, MutableByteSpan out) {
  store_be16(out, 0, header.source.value());
  store_be16(out, 2, header.destination.value());
  store_be16(out, 4, header.length);
  store_be16(out, 6, header.checksum);
}

}  // namespace weft::packet
