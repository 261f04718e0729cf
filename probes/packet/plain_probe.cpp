#include "probes/packet/plain_probe.hpp"

#include <array>
#include <cstring>
#include <type_traits>

#include "probes/packet/icrc.hpp"
#include "probes/packet/probe_header_bytes.hpp"

namespace weft::packet {
namespace {

/// The smallest frame of a plain probe.
template <bool v6>
inline constexpr std::size_t kSmallest = kEthernetSize + min_probe_size(v6);
template <bool v6>
using Headers = std::span<const std::byte, kSmallest<v6>>;

/// Whether the checksum of an IPv4 header without options is right. The sum of words in the other order of
/// bytes is the sum in the other order of bytes (RFC 1071, 2 B): a right one is all ones in both.
bool is_sum_right(std::span<const std::byte, kIpv4Size> header) {
  std::array<std::uint32_t, kIpv4Size / 4> words;
  std::memcpy(words.data(), header.data(), sizeof words);
  std::uint64_t sum = std::uint64_t{words[0]} + words[1] + words[2] + words[3] + words[4];
  while (sum > 0xFFFF) sum = (sum >> 16) + (sum & 0xFFFF);
  return sum == 0xFFFF;
}

/// Bytes of the IP packet; nothing where the headers are not plain, or not those of a RoCE packet that holds
/// a probe's header. Offsets: RFC 791, 3.1; RFC 8200, 3; RFC 768.
template <bool v6>
std::optional<std::size_t> plain_size(Headers<v6> bytes) {
  constexpr std::size_t ip = kEthernetSize, udp = ip + ip_header_size(v6);
  bool plain = false;
  std::size_t size = 0;
  if constexpr (v6) {
    size = kIpv6Size + load_be16(bytes, ip + 4);
    plain = load_u8(bytes, ip) >> 4 == 6 && load_u8(bytes, ip + 6) == kProtocolUdp.value();
  } else {
    size = load_be16(bytes, ip + 2);
    const bool whole = (load_be16(bytes, ip + 6) & 0x3FFF) == 0;  // no fragment
    plain = load_u8(bytes, ip) == 0x45 && whole && load_u8(bytes, ip + 9) == kProtocolUdp.value() &&
            is_sum_right(bytes.template subspan<ip, kIpv4Size>());
  }
  const bool roce = load_be16(bytes, udp + 2) == kRocePort.value() &&
                    load_be16(bytes, udp + 4) == size - ip_header_size(v6);
  if (!plain || !roce || size < min_probe_size(v6)) return std::nullopt;
  return size;
}

template <bool v6>
IpAddress address_at(Headers<v6> bytes, std::size_t at) {
  std::conditional_t<v6, IpAddress::V6, IpAddress::V4> address;
  std::memcpy(address.data(), bytes.data() + at, address.size());
  return IpAddress(address);
}

void copy_mac(MacAddress& mac, ByteSpan bytes, std::size_t at) {
  std::memcpy(mac.bytes.data(), bytes.data() + at, mac.bytes.size());
}

template <bool v6>
bool read(ByteSpan frame, ProbePacket& packet) {
  if (frame.size() < kSmallest<v6>) return false;
  constexpr std::size_t at = kEthernetSize;
  const auto bytes = frame.first<kSmallest<v6>>();
  const auto size = plain_size<v6>(bytes);
  if (!size || *size > frame.size() - at) return false;
  const auto header = bytes.template subspan<at + probe_payload_offset(v6), kProbeHeaderSize>();
  if (!is_probe_header(header)) return false;
  copy_mac(packet.ethernet.destination, bytes, 0);
  copy_mac(packet.ethernet.source, bytes, 6);
  packet.ethernet.type = v6 ? kEtherTypeIpv6 : kEtherTypeIpv4;
  packet.ethernet.vlan = std::nullopt;
  packet.ip.source = address_at<v6>(bytes, at + (v6 ? 8 : 12));
  packet.ip.destination = address_at<v6>(bytes, at + (v6 ? 24 : 16));
  packet.ip.protocol = kProtocolUdp;
  packet.ip.hop_limit = load_u8(bytes, at + (v6 ? 7 : 8));
  packet.ip.identification = v6 ? std::nullopt : std::optional(load_be16(bytes, at + 4));
  packet.ip.header_size = ip_header_size(v6);
  packet.ip.bytes = frame.subspan(at, *size);
  packet.ip.payload = packet.ip.bytes.subspan(ip_header_size(v6));
  packet.label = UdpPort(load_be16(bytes, at + ip_header_size(v6)));
  packet.header = load_probe_header(header);
  packet.authentic = false;
  packet.intact = load_icrc(packet.ip.bytes) ==
                  compute_icrc(packet.ip.bytes.first(*size - kIcrcSize), ip_header_size(v6));
  return true;
}

}  // namespace

bool read_plain_probe(ByteSpan frame, ProbePacket& packet) {
  if (frame.size() < kEthernetSize) return false;
  const EtherType type(load_be16(frame, kEthernetSize - 2));
  if (type == kEtherTypeIpv4) return read<false>(frame, packet);
  return type == kEtherTypeIpv6 && read<true>(frame, packet);
}

std::optional<ProbePacket> read_plain_probe(ByteSpan frame) {
  ProbePacket packet;
  return read_plain_probe(frame, packet) ? std::optional(packet) : std::nullopt;
}

}  // namespace weft::packet
