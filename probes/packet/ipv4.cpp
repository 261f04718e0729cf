#include "probes/packet/ipv4.hpp"

#include <cstring>

namespace weft::packet {
namespace {

constexpr std::uint16_t kDontFragment = 0x4000;
constexpr std::uint16_t kMoreFragments = 0x2000;
constexpr std::uint16_t kOffsetMask = 0x1FFF;

IpAddress load_v4(ByteSpan bytes, std::size_t at) {
  IpAddress::V4 v4;
  std::memcpy(v4.data(), bytes.subspan(at, 4).data(), 4);
  return IpAddress(v4);
}

void store_v4(MutableByteSpan bytes, std::size_t at, const IpAddress& address) {
  std::memcpy(bytes.subspan(at, 4).data(), address.bytes().data(), 4);
}

/// Offsets from RFC 791, 3.1.
Ipv4Header load_fields(ByteSpan packet) {
  const auto flags = load_be16(packet, 6);
  return {.traffic_class = load_u8(packet, 1),
          .total_length = load_be16(packet, 2),
          .identification = load_be16(packet, 4),
          .dont_fragment = (flags & kDontFragment) != 0,
          .more_fragments = (flags & kMoreFragments) != 0,
          .fragment_offset = static_cast<std::uint16_t>(flags & kOffsetMask),
          .ttl = load_u8(packet, 8),
          .protocol = IpProtocol(load_u8(packet, 9)),
          .source = load_v4(packet, 12),
          .destination = load_v4(packet, 16)};
}

}  // namespace

Result<Decoded<Ipv4Header>> decode_ipv4(ByteSpan packet, IpInput input) {
  if (auto enough = need_bytes(packet, kIpv4Size, "IPv4 header"); !enough) return pass_on(enough);
  const auto version = load_u8(packet, 0) >> 4;
  if (version != 4) return fail(ErrorKind::invalid_input, "IP version {} where 4 was expected", version);
  const std::size_t size = std::size_t{load_u8(packet, 0) & 0xFu} * 4;
  if (size < kIpv4Size || size > packet.size())
    return fail(ErrorKind::invalid_input, "IPv4 header of {} bytes in {}", size, packet.size());
  const auto header = load_fields(packet);
  if (header.total_length < size)
    return fail(ErrorKind::invalid_input, "IPv4 total length {} below its header's {}", header.total_length,
                size);
  if (input == IpInput::quoted) return Decoded<Ipv4Header>{header, size};
  if (header.total_length > packet.size())
    return fail(ErrorKind::invalid_input, "IPv4 total length {} in {} bytes", header.total_length,
                packet.size());
  if (internet_checksum(packet.first(size)) != 0)
    return fail(ErrorKind::invalid_input, "IPv4 header checksum is wrong");
  return Decoded<Ipv4Header>{header, size};
}

void encode_ipv4(const Ipv4Header& header, MutableByteSpan out) {
  store_u8(out, 0, 0x45);  // version 4, 5 words
  store_u8(out, 1, header.traffic_class);
  store_be16(out, 2, header.total_length);
  store_be16(out, 4, header.identification);
  store_be16(out, 6,
             static_cast<std::uint16_t>((header.dont_fragment ? kDontFragment : 0) |
                                        (header.more_fragments ? kMoreFragments : 0) |
                                        (header.fragment_offset & kOffsetMask)));
  store_u8(out, 8, header.ttl);
  store_u8(out, 9, header.protocol.value());
  store_be16(out, 10, 0);
  store_v4(out, 12, header.source);
  store_v4(out, 16, header.destination);
  store_be16(out, 10, internet_checksum(out.first(kIpv4Size)));
}

std::uint64_t checksum_add(ByteSpan bytes, std::uint64_t sum) {
  std::size_t at = 0;
  for (; at + 4 <= bytes.size(); at += 4) sum += load_be32(bytes, at);
  if (at + 2 <= bytes.size()) {
    sum += load_be16(bytes, at);
    at += 2;
  }
  if (at < bytes.size()) sum += static_cast<std::uint64_t>(load_u8(bytes, at)) << 8;
  return sum;
}

std::uint64_t pseudo_header_sum(const IpAddress& source, const IpAddress& destination, std::uint8_t protocol,
                                std::size_t length) {
  const auto sum = checksum_add(std::as_bytes(std::span(source.bytes())));
  return checksum_add(std::as_bytes(std::span(destination.bytes())), sum) + protocol + length;
}

}  // namespace weft::packet
