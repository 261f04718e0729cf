#include "probes/packet/ethernet.hpp"

#include <cstring>

namespace weft::packet {
namespace {

MacAddress load_mac(ByteSpan bytes, std::size_t at) {
  MacAddress mac;
  std::memcpy(mac.bytes.data(), bytes.subspan(at, 6).data(), 6);
  return mac;
}

void store_mac(MutableByteSpan bytes, std::size_t at, const MacAddress& mac) {
  std::memcpy(bytes.subspan(at, 6).data(), mac.bytes.data(), 6);
}

}  // namespace

std::string to_string(const MacAddress& address) {
  const auto& b = address.bytes;
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", b[0], b[1], b[2], b[3], b[4], b[5]);
}

Result<Decoded<EthernetHeader>> decode_ethernet(ByteSpan frame) {
  if (auto enough = need_bytes(frame, kEthernetSize, "Ethernet header"); !enough) return pass_on(enough);
  EthernetHeader header{.destination = load_mac(frame, 0),  // IEEE 802.3, 3.2: destination at 0
                        .source = load_mac(frame, 6),       // source at 6
                        .type = EtherType(load_be16(frame, 12))};
  if (header.type != kEtherTypeVlan) return Decoded<EthernetHeader>{header, kEthernetSize};
  if (auto enough = need_bytes(frame, kEthernetSize + 4, "802.1Q header"); !enough) return pass_on(enough);
  header.vlan = load_be16(frame, 14);             // IEEE 802.1Q, 9.6: tag control information
  header.type = EtherType(load_be16(frame, 16));  // the type of what is inside
  return Decoded<EthernetHeader>{header, kEthernetSize + 4};
}

std::size_t encode_ethernet(const EthernetHeader& header, MutableByteSpan out) {
  store_mac(out, 0, header.destination);
  store_mac(out, 6, header.source);
  if (!header.vlan) {
    store_be16(out, 12, header.type.value());
    return kEthernetSize;
  }
  store_be16(out, 12, kEtherTypeVlan.value());
  store_be16(out, 14, *header.vlan);
  store_be16(out, 16, header.type.value());
  return kEthernetSize + 4;
}

}  // namespace weft::packet
