#include "probes/packet/ip_packet.hpp"

#include <algorithm>
#include <cstring>

namespace weft::packet {
namespace {

constexpr std::uint8_t kHopByHop = 0;
constexpr std::uint8_t kRouting = 43;
constexpr std::uint8_t kFragment = 44;
constexpr std::uint8_t kDestinationOptions = 60;

IpAddress load_v6(ByteSpan bytes, std::size_t at) {
  IpAddress::V6 v6;
  std::memcpy(v6.data(), bytes.subspan(at, 16).data(), 16);
  return IpAddress(v6);
}

void store_v6(MutableByteSpan bytes, std::size_t at, const IpAddress& address) {
  std::memcpy(bytes.subspan(at, 16).data(), address.bytes().data(), 16);
}

struct Upper {
  std::uint8_t protocol;
  std::size_t at;
};

/// Where the payload begins behind the extension headers (RFC 8200, 4).
Result<Upper> skip_extensions(ByteSpan packet, Upper next) {
  for (int seen = 0; seen < kMaxExtensionHeaders; ++seen) {
    const bool fragment = next.protocol == kFragment;
    if (!fragment && next.protocol != kHopByHop && next.protocol != kRouting &&
        next.protocol != kDestinationOptions)
      return next;
    if (auto enough = need_bytes(packet, next.at + 8, "IPv6 extension header"); !enough)
      return pass_on(enough);
    if (fragment && (load_be16(packet, next.at + 2) & 0xFFF9) != 0)
      return fail(ErrorKind::invalid_input, "IPv6 fragment where a whole packet was expected");
    const std::size_t size = fragment ? 8 : 8 + 8 * static_cast<std::size_t>(load_u8(packet, next.at + 1));
    next = {load_u8(packet, next.at), next.at + size};
    if (auto enough = need_bytes(packet, next.at, "IPv6 extension header"); !enough) return pass_on(enough);
  }
  return fail(ErrorKind::invalid_input, "more than {} IPv6 extension headers", kMaxExtensionHeaders);
}

Result<IpPacket> from_v4(ByteSpan packet, IpInput input) {
  WEFT_TRY(const auto ip, decode_ipv4(packet, input));
  const auto& header = ip.header;
  if (header.more_fragments || header.fragment_offset != 0)
    return fail(ErrorKind::invalid_input, "IPv4 fragment where a whole packet was expected");
  const auto bytes = packet.first(std::min<std::size_t>(packet.size(), header.total_length));
  return IpPacket{.source = header.source,
                  .destination = header.destination,
                  .protocol = header.protocol,
                  .hop_limit = header.ttl,
                  .identification = header.identification,
                  .header_size = ip.size,
                  .bytes = bytes,
                  .payload = bytes.subspan(ip.size)};
}

Result<IpPacket> from_v6(ByteSpan packet, IpInput input) {
  WEFT_TRY(const auto ip, decode_ipv6(packet, input));
  const auto& header = ip.header;
  const auto bytes = packet.first(std::min<std::size_t>(packet.size(), kIpv6Size + header.payload_length));
  return IpPacket{.source = header.source,
                  .destination = header.destination,
                  .protocol = header.protocol,
                  .hop_limit = header.hop_limit,
                  .identification = std::nullopt,
                  .header_size = ip.size,
                  .bytes = bytes,
                  .payload = bytes.subspan(ip.size)};
}

}  // namespace

Result<Decoded<Ipv6Header>> decode_ipv6(ByteSpan packet, IpInput input) {
  if (auto enough = need_bytes(packet, kIpv6Size, "IPv6 header"); !enough) return pass_on(enough);
  const auto first = load_be32(packet, 0);  // RFC 8200, 3: version 4, traffic class 8, flow label 20
  if (first >> 28 != 6)
    return fail(ErrorKind::invalid_input, "IP version {} where 6 was expected", first >> 28);
  Ipv6Header header{.traffic_class = static_cast<std::uint8_t>(first >> 20),
                    .flow_label = first & 0xFFFFF,
                    .payload_length = load_be16(packet, 4),
                    .hop_limit = load_u8(packet, 7),
                    .source = load_v6(packet, 8),
                    .destination = load_v6(packet, 24)};
  auto end = kIpv6Size + header.payload_length;
  if (input == IpInput::whole && end > packet.size())
    return fail(ErrorKind::invalid_input, "IPv6 payload of {} bytes in {}", header.payload_length,
                packet.size());
  end = std::min(end, packet.size());
  WEFT_TRY(const auto upper, skip_extensions(packet.first(end), {load_u8(packet, 6), kIpv6Size}));
  header.protocol = IpProtocol(upper.protocol);
  return Decoded<Ipv6Header>{header, upper.at};
}

void encode_ipv6(const Ipv6Header& header, MutableByteSpan out) {
  store_be32(
      out, 0,
      6u << 28 | static_cast<std::uint32_t>(header.traffic_class) << 20 | (header.flow_label & 0xFFFFF));
  store_be16(out, 4, header.payload_length);
  store_u8(out, 6, header.protocol.value());
  store_u8(out, 7, header.hop_limit);
  store_v6(out, 8, header.source);
  store_v6(out, 24, header.destination);
}

Result<IpPacket> decode_ip(ByteSpan packet, IpInput input) {
  if (auto enough = need_bytes(packet, 1, "IP header"); !enough) return pass_on(enough);
  return load_u8(packet, 0) >> 4 == 6 ? from_v6(packet, input) : from_v4(packet, input);
}

}  // namespace weft::packet
