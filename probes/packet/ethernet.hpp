// Ethernet II framing (IEEE 802.3): 14 bytes, 18 with one 802.1Q tag. Pure.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "topology/base/bytes.hpp"
#include "topology/base/ids.hpp"

namespace weft::packet {

struct MacAddress {
  std::array<std::uint8_t, 6> bytes{};
  friend constexpr auto operator<=>(const MacAddress&, const MacAddress&) = default;
};

std::string to_string(const MacAddress& address);

using EtherType = Strong<struct EtherTypeTag, std::uint16_t>;
inline constexpr EtherType kEtherTypeIpv4{0x0800};
inline constexpr EtherType kEtherTypeIpv6{0x86DD};
inline constexpr EtherType kEtherTypeVlan{0x8100};  // IEEE 802.1Q

struct EthernetHeader {
  MacAddress destination;
  MacAddress source;
  EtherType type;
  std::optional<std::uint16_t> vlan = std::nullopt;  // the tag's 16 bits: priority 3, DEI 1, VLAN id 12
  friend bool operator==(const EthernetHeader&, const EthernetHeader&) = default;
};

inline constexpr std::size_t kEthernetSize = 14;  // without a tag

Result<Decoded<EthernetHeader>> decode_ethernet(ByteSpan frame);
/// Writes the header to the front of `out` (14 bytes, 18 with a tag) and returns its size.
std::size_t encode_ethernet(const EthernetHeader& header, MutableByteSpan out);

}  // namespace weft::packet
