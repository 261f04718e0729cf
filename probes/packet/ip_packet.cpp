#include "probes/packet/ip_packet.hpp"

#include <algorithm>

namespace weft {
namespace {

Result<IpPacket> from_v4(ByteSpan packet, IpInput input) {
  const auto ip = decode_ipv4(packet, input);
  if (!ip) return pass_on(ip);
  const auto& header = ip->header;
  if (header.more_fragments || header.fragment_offset != 0)
    return fail(ErrorKind::invalid_input, "IPv4 fragment where a whole packet was expected");
  const auto bytes = packet.first(std::min<std::size_t>(packet.size(), header.total_length));
  return IpPacket{.source = header.source,
                  .destination = header.destination,
                  .protocol = header.protocol,
                  .hop_limit = header.ttl,
                  .identification = header.identification,
                  .header_size = ip->size,
                  .bytes = bytes,
                  .payload = bytes.subspan(ip->size)};
}

Result<IpPacket> from_v6(ByteSpan packet, IpInput input) {
  const auto ip = decode_ipv6(packet, input);
  if (!ip) return pass_on(ip);
  const auto& header = ip->header;
  const auto bytes = packet.first(std::min<std::size_t>(packet.size(), kIpv6Size + header.payload_length));
  return IpPacket{.source = header.source,
                  .destination = header.destination,
                  .protocol = header.protocol,
                  .hop_limit = header.hop_limit,
                  .identification = std::nullopt,
                  .header_size = ip->size,
                  .bytes = bytes,
                  .payload = bytes.subspan(ip->size)};
}

}  // namespace

Result<IpPacket> decode_ip(ByteSpan packet, IpInput input) {
  if (auto enough = need_bytes(packet, 1, "IP header"); !enough) return pass_on(enough);
  return load_u8(packet, 0) >> 4 == 6 ? from_v6(packet, input) : from_v4(packet, input);
}

}  // namespace weft
