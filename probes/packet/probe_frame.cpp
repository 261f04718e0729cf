#include "probes/packet/probe_frame.hpp"

#include <sodium.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "probes/packet/icrc.hpp"

namespace weft::packet {
namespace {

constexpr std::uint32_t kMagic = 0x57454654;  // "WEFT"
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kAuthenticated = 44;  // bytes of the header that stand before the authenticator
constexpr std::size_t kEnvelopeSize = 34;
constexpr std::size_t kBeforeHeader = kUdpSize + kBthSize + kDethSize;  // in the payload of the IP packet

using Authenticator = std::array<std::byte, crypto_shorthash_BYTES>;
static_assert(kAuthenticated + crypto_shorthash_BYTES == kProbeHeaderSize);
static_assert(sizeof(RunKey) == crypto_shorthash_KEYBYTES);

Authenticator hash_of(ByteSpan input, const RunKey& key) {
  Authenticator out;
  crypto_shorthash(reinterpret_cast<unsigned char*>(out.data()),
                   reinterpret_cast<const unsigned char*>(input.data()), input.size(),
                   reinterpret_cast<const unsigned char*>(key.data()));
  return out;
}

Authenticator authenticator_of(ByteSpan header, const ProbeEnvelope& envelope, const RunKey& key) {
  std::array<std::byte, kAuthenticated + kEnvelopeSize> input;
  std::memcpy(input.data(), header.first(kAuthenticated).data(), kAuthenticated);
  std::memcpy(input.data() + kAuthenticated, envelope.source.bytes().data(), 16);
  std::memcpy(input.data() + kAuthenticated + 16, envelope.destination.bytes().data(), 16);
  store_be16(input, kAuthenticated + 32, envelope.source_port.value());
  return hash_of(input, key);
}

std::uint32_t clamp_turnaround(Nanoseconds turnaround) {
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(turnaround.count(), 0, most));
}

void encode_ip(const ProbeRoute& route, std::size_t ip_size, MutableByteSpan out) {
  if (route.to.is_v6())
    return encode_ipv6({.traffic_class = route.traffic_class,
                        .flow_label = route.flow_label,
                        .payload_length = static_cast<std::uint16_t>(ip_size - kIpv6Size),
                        .protocol = kProtocolUdp,
                        .hop_limit = route.hop_limit,
                        .source = route.from,
                        .destination = route.to},
                       out);
  encode_ipv4({.traffic_class = route.traffic_class,
               .total_length = static_cast<std::uint16_t>(ip_size),
               .identification = route.identification,
               .dont_fragment = true,  // so that a too small MTU on the way shows
               .ttl = route.hop_limit,
               .protocol = kProtocolUdp,
               .source = route.from,
               .destination = route.to},
              out);
}

void encode_transport(const ProbeRoute& route, const ProbeHeader& header, const RunKey& key,
                      MutableByteSpan out) {
  encode_udp(
      {.source = route.label, .destination = kRocePort, .length = static_cast<std::uint16_t>(out.size())},
      out);
  encode_bth({.opcode = kOpcodeUdSendOnly,
              .partition = kDefaultPartition,
              .destination = route.queue_pair,
              .sequence = PacketSequence((first_psn(header, key) + header.sequence) & 0xFFFFFF)},
             out.subspan(kUdpSize));
  encode_deth({.queue_key = kProbeQueueKey, .source = kProbeQueuePair}, out.subspan(kUdpSize + kBthSize));
}

Result<UdpHeader> decode_roce_udp(const IpPacket& ip) {
  if (ip.protocol != kProtocolUdp || ip.header_size > 60 ||
      (ip.source.is_v6() && ip.header_size != kIpv6Size))
    return fail(ErrorKind::invalid_input, "IP packet is no plain UDP");
  auto udp = decode_udp(ip.payload);
  if (!udp) return udp;
  if (udp->destination != kRocePort || udp->length != ip.payload.size())
    return fail(ErrorKind::invalid_input, "UDP packet is no RoCE: port {}, length {} of {}",
                udp->destination.value(), udp->length, ip.payload.size());
  return udp;
}

}  // namespace

Result<ProbeHeader> decode_probe_header(ByteSpan payload) {
  if (auto enough = need_bytes(payload, kProbeHeaderSize, "probe header"); !enough) return pass_on(enough);
  if (load_be32(payload, 0) != kMagic || load_u8(payload, 4) != kVersion)
    return fail(ErrorKind::invalid_input, "no probe header of version {}", kVersion);
  const auto kind = load_u8(payload, 5);
  if (kind < 1 || kind > 4) return fail(ErrorKind::invalid_input, "probe of unknown kind {}", kind);
  return ProbeHeader{.kind = static_cast<ProbeKind>(kind),
                     .back_label = UdpPort(load_be16(payload, 6)),
                     .run = RunId(load_be64(payload, 8)),
                     .batch = BatchId(load_be32(payload, 16)),
                     .nic = PortId(load_be32(payload, 20)),
                     .spec = load_be32(payload, 24),
                     .sequence = load_be32(payload, 28),
                     .sent_at = Nanoseconds(static_cast<std::int64_t>(load_be64(payload, 32))),
                     .turnaround = Nanoseconds(load_be32(payload, 40))};
}

void encode_probe_header(const ProbeHeader& header, const ProbeEnvelope& envelope, const RunKey& key,
                         MutableByteSpan out) {
  store_be32(out, 0, kMagic);
  store_u8(out, 4, kVersion);
  store_u8(out, 5, static_cast<std::uint8_t>(header.kind));
  store_be16(out, 6, header.back_label.value());
  store_be64(out, 8, header.run.value());
  store_be32(out, 16, header.batch.value());
  store_be32(out, 20, header.nic.value());
  store_be32(out, 24, header.spec);
  store_be32(out, 28, header.sequence);
  store_be64(out, 32, static_cast<std::uint64_t>(header.sent_at.count()));
  store_be32(out, 40, clamp_turnaround(header.turnaround));
  const auto authenticator = authenticator_of(out, envelope, key);
  std::memcpy(out.subspan(kAuthenticated, authenticator.size()).data(), authenticator.data(),
              authenticator.size());
}

bool authenticate(ByteSpan payload, const ProbeEnvelope& envelope, const RunKey& key) {
  if (payload.size() < kProbeHeaderSize) return false;
  Authenticator found;
  std::memcpy(found.data(), payload.data() + kAuthenticated, sizeof found);
  // Compared as one word: the time does not tell how many bytes are right.
  return std::bit_cast<std::uint64_t>(found) ==
         std::bit_cast<std::uint64_t>(authenticator_of(payload, envelope, key));
}

std::uint32_t first_psn(const ProbeHeader& header, const RunKey& key) {
  std::array<std::byte, 12> input;
  store_be32(input, 0, header.batch.value());
  store_be32(input, 4, header.nic.value());
  store_be32(input, 8, header.spec);
  return load_be24(hash_of(input, key), 0);
}

std::uint16_t first_identification(BatchId batch, const RunKey& key) {
  std::array<std::byte, 4> input;
  store_be32(input, 0, batch.value());
  return load_be16(hash_of(input, key), 0);
}

std::size_t probe_size(std::size_t wanted, bool v6) {
  return std::max(wanted & ~std::size_t{3}, min_probe_size(v6));
}

std::size_t encode_probe_frame(const ProbeRoute& route, const ProbeHeader& header, const RunKey& key,
                               std::size_t ip_size, MutableByteSpan out) {
  const bool v6 = route.to.is_v6();
  WEFT_CHECK(route.from.is_v6() == v6 && ip_size == probe_size(ip_size, v6) && ip_size <= 0xFFFF);
  const auto frame = out.first(kEthernetSize + ip_size);
  encode_ethernet(
      {.destination = route.to_mac, .source = route.from_mac, .type = v6 ? kEtherTypeIpv6 : kEtherTypeIpv4},
      frame);
  const auto ip = frame.subspan(kEthernetSize);
  encode_ip(route, ip_size, ip);
  encode_transport(route, header, key, ip.subspan(ip_header_size(v6)));
  encode_probe_header(header, {route.from, route.to, route.label}, key, ip.subspan(probe_payload_offset(v6)));
  store_icrc(ip, compute_icrc(ip.first(ip_size - kIcrcSize), ip_header_size(v6)));
  return frame.size();
}

Result<ProbePacket> decode_probe_packet(const EthernetHeader& ethernet, const IpPacket& ip) {
  WEFT_TRY(const auto udp, decode_roce_udp(ip));
  if (auto enough = need_bytes(ip.payload, kBeforeHeader + kProbeHeaderSize + kIcrcSize, "probe"); !enough)
    return pass_on(enough);
  WEFT_TRY(const auto header, decode_probe_header(ip.payload.subspan(kBeforeHeader)));
  return ProbePacket{.ethernet = ethernet,
                     .ip = ip,
                     .label = udp.source,
                     .header = header,
                     .intact = load_icrc(ip.bytes) ==
                               compute_icrc(ip.bytes.first(ip.bytes.size() - kIcrcSize), ip.header_size)};
}

Result<ProbePacket> decode_probe_frame(ByteSpan frame) {
  WEFT_TRY(const auto ethernet, decode_ethernet(frame));
  WEFT_TRY(const auto ip, decode_ip(frame.subspan(ethernet.size)));
  return decode_probe_packet(ethernet.header, ip);
}

bool authenticate(const ProbePacket& packet, const RunKey& key) {
  return authenticate(packet.ip.payload.subspan(kBeforeHeader),
                      {packet.ip.source, packet.ip.destination, packet.label}, key);
}

Result<ProbePacket> decode_probe_frame(ByteSpan frame, const RunKey& key) {
  auto packet = decode_probe_frame(frame);
  if (packet) packet->authentic = authenticate(*packet, key);
  return packet;
}

}  // namespace weft::packet
