// IpPacket: what weft needs of an IPv4 or IPv6 packet, whichever it is. A view: it lives as long as the bytes
// it was decoded from. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "probes/packet/ipv4.hpp"
#include "probes/packet/ipv6.hpp"

namespace weft {

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

}  // namespace weft
