// IpPacket: what weft needs of an IPv4 or IPv6 packet, whichever it is. A view: it lives as long as the bytes
// it was decoded from. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "probes/packet/ipv4.hpp"

namespace weft::packet {

/// The IPv6 header (RFC 8200), 40 bytes, and a bounded walk over its extension headers. Pure.
struct Ipv6Header {
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;      // 20 bits
  std::uint16_t payload_length = 0;  // bytes after these 40
  IpProtocol protocol;               // of the payload, after any extension headers
  std::uint8_t hop_limit = 0;
  IpAddress source;
  IpAddress destination;
  friend bool operator==(const Ipv6Header&, const Ipv6Header&) = default;
};

inline constexpr std::size_t kIpv6Size = 40;    // without extension headers
inline constexpr int kMaxExtensionHeaders = 8;  // RFC 8200, 4.1 recommends at most one of each of seven kinds

/// size counts the extension headers too. Fragments other than whole packets are an error.
Result<Decoded<Ipv6Header>> decode_ipv6(ByteSpan packet, IpInput input = IpInput::whole);
/// Writes 40 bytes.
void encode_ipv6(const Ipv6Header& header, MutableByteSpan out);

struct IpPacket {
  IpAddress source;
  IpAddress destination;
  IpProtocol protocol;
  std::uint8_t hop_limit = 0;
  std::optional<std::uint16_t> identification = std::nullopt;  // IPv4 only
  std::size_t header_size = 0;
  ByteSpan bytes;    // header and payload, without what the link added behind (Ethernet pads to 60 bytes)
  ByteSpan payload;  // behind the header
};

/// A fragment is an error. Quoted packets may be cut short: then `bytes` is what there is.
Result<IpPacket> decode_ip(ByteSpan packet, IpInput input = IpInput::whole);

}  // namespace weft::packet
