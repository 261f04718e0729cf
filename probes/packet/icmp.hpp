// ICMP (RFC 792) and ICMPv6 (RFC 4443) errors: what routers answer to a probe whose hops ran out, that is too
// large or that cannot be delivered, with the front of that probe quoted. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "probes/packet/ip_packet.hpp"

namespace weft::packet {

enum class IcmpKind { time_exceeded, unreachable, too_big };

struct IcmpError {
  IcmpKind kind = IcmpKind::time_exceeded;
  std::uint8_t code = 0;  // as on the wire
  std::optional<std::uint32_t> mtu =
      std::nullopt;  // too_big only: bytes of the largest packet that fits; 0 is absent
  ByteSpan quoted;   // from the quoted packet's IP header on
};

inline constexpr std::size_t kIcmpErrorSize = 8;  // before the quote

/// `packet` is a whole ICMP or ICMPv6 message in its IP packet. An error where it is no such error, is cut
/// short or its checksum is wrong.
Result<IcmpError> decode_icmp(const IpPacket& packet);
/// Writes the ICMP message (8 bytes and the quote) with its checksum and returns its size; the family is that
/// of `source`, and for IPv6 both addresses enter the checksum.
std::size_t encode_icmp(const IcmpError& error, const IpAddress& source, const IpAddress& destination,
                        MutableByteSpan out);

}  // namespace weft::packet
