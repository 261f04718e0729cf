// The IPv4 header (RFC 791), 20 to 60 bytes; options are skipped over, never written. And the Internet
// checksum (RFC 1071) of it and of what an IP packet carries: the one's complement of the one's complement
// sum of 16-bit words. Pure.
#pragma once

#include <cstdint>

#include "topology/base/bytes.hpp"
#include "topology/base/ids.hpp"
#include "topology/base/ip.hpp"

namespace weft::packet {

/// The sum of `bytes` (an odd last byte is padded with zero) added to `sum`; not yet folded.
std::uint64_t checksum_add(ByteSpan bytes, std::uint64_t sum = 0);
/// Folds a sum to 16 bits and complements it: the value of a checksum field, or 0 over bytes that hold a
/// right one.
inline std::uint16_t checksum_fold(std::uint64_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}
inline std::uint16_t internet_checksum(ByteSpan bytes) { return checksum_fold(checksum_add(bytes)); }

/// The sum of the IPv6 pseudo header (RFC 8200, 8.1) of `length` bytes of `protocol`.
std::uint64_t pseudo_header_sum(const IpAddress& source, const IpAddress& destination, std::uint8_t protocol,
                                std::size_t length);

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

}  // namespace weft::packet
