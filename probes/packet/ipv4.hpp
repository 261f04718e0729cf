// The IPv4 header (RFC 791), 20 to 60 bytes. Options are skipped over, never written. Pure.
#pragma once

#include <cstdint>

#include "topology/base/bytes.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/strong.hpp"

namespace weft {

using IpProtocol = Strong<struct IpProtocolTag, std::uint8_t>;
inline constexpr IpProtocol kProtocolIcmp{1};
inline constexpr IpProtocol kProtocolUdp{17};
inline constexpr IpProtocol kProtocolIcmpv6{58};

struct Ipv4Header {
  std::uint8_t traffic_class = 0;  // DSCP 6 bits, ECN 2 bits
  std::uint16_t total_length = 0;  // bytes, this header included
  std::uint16_t identification = 0;
  bool dont_fragment = false;
  bool more_fragments = false;
  std::uint16_t fragment_offset = 0;  // in units of 8 bytes
  std::uint8_t ttl = 0;
  IpProtocol protocol;
  IpAddress source;
  IpAddress destination;
  friend bool operator==(const Ipv4Header&, const Ipv4Header&) = default;
};

inline constexpr std::size_t kIpv4Size = 20;  // without options

/// `whole`: the packet is all there; `quoted`: the front of one inside an ICMP error, whose checksum a router
/// may have left as it was before it took one off the TTL.
enum class IpInput { whole, quoted };

/// An error on a wrong version, length or checksum. size is that of the header with its options.
Result<Decoded<Ipv4Header>> decode_ipv4(ByteSpan packet, IpInput input = IpInput::whole);
/// Writes 20 bytes with the checksum in place.
void encode_ipv4(const Ipv4Header& header, MutableByteSpan out);

}  // namespace weft
