// The UDP header (RFC 768), 8 bytes. RoCEv2 leaves the checksum zero. Pure.
#pragma once

#include <cstdint>

#include "topology/base/bytes.hpp"
#include "topology/base/ids.hpp"

namespace weft::packet {

inline constexpr UdpPort kRocePort{4791};  // IBTA annex A17, 17.4.1; assigned by IANA

struct UdpHeader {
  UdpPort source;
  UdpPort destination;
  std::uint16_t length = 0;  // bytes, this header included
  std::uint16_t checksum = 0;
  friend bool operator==(const UdpHeader&, const UdpHeader&) = default;
};

inline constexpr std::size_t kUdpSize = 8;

/// The header alone: its length field is the caller's to hold against what there is.
Result<UdpHeader> decode_udp(ByteSpan bytes);
void encode_udp(const UdpHeader& header, MutableByteSpan out);

}  // namespace weft::packet
