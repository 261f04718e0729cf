#include "probes/packet/probe_frame.hpp"

#include <sodium.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "probes/packet/icrc.hpp"
#include "probes/packet/plain_probe.hpp"
#include "probes/packet/probe_header_bytes.hpp"

namespace weft::packet {
namespace {

constexpr std::size_t kAuthenticated = 44;  // bytes of the header that stand before the authenticator
constexpr std::size_t kEnvelopeSize = 34;
constexpr std::size_t kBeforeHeader = kUdpSize + kBthSize + kDethSize;  // in the payload of the IP packet

static_assert(kAuthenticated + sizeof(std::uint64_t) == kProbeHeaderSize);
static_assert(sizeof(RunKey) == crypto_shorthash_KEYBYTES);

std::uint64_t hash_of(ByteSpan input, const RunKey& key) {
  std::uint64_t hash = 0;
  static_assert(sizeof hash == crypto_shorthash_BYTES);
  crypto_shorthash(reinterpret_cast<unsigned char*>(&hash),
                   reinterpret_cast<const unsigned char*>(input.data()), input.size(),
                   reinterpret_cast<const unsigned char*>(key.data()));
  return hash;
}

/// Of the header's first 44 bytes, both addresses and the source port.
std::uint64_t authenticator_of(ProbeHeaderBytes header, const IpAddress& source, const IpAddress& destination,
                               UdpPort source_port, const RunKey& key) {
  std::array<std::byte, kAuthenticated + kEnvelopeSize> input;
  std::memcpy(input.data(), header.data(), kAuthenticated);
  std::memcpy(input.data() + kAuthenticated, source.bytes().data(), 16);
  std::memcpy(input.data() + kAuthenticated + 16, destination.bytes().data(), 16);
  store_be16(input, kAuthenticated + 32, source_port.value());
  return hash_of(input, key);
}

bool is_authentic(ProbeHeaderBytes header, const IpAddress& source, const IpAddress& destination,
                  UdpPort source_port, const RunKey& key) {
  std::uint64_t found = 0;
  std::memcpy(&found, header.data() + kAuthenticated, sizeof found);
  // Compared as one word: the time does not tell how many bytes are right.
  return found == authenticator_of(header, source, destination, source_port, key);
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
  const auto bytes = payload.first<kProbeHeaderSize>();
  if (!is_probe_header(bytes))
    return fail(ErrorKind::invalid_input, "no probe header of version {}, kind 1 to 4", kProbeVersion);
  return load_probe_header(bytes);
}

void encode_probe_header(const ProbeHeader& header, const ProbeEnvelope& envelope, const RunKey& key,
                         MutableByteSpan payload) {
  WEFT_CHECK(payload.size() >= kProbeHeaderSize);
  const auto out = payload.first<kProbeHeaderSize>();
  store_be32(out, 0, kProbeMagic);
  store_u8(out, 4, kProbeVersion);
  store_u8(out, 5, static_cast<std::uint8_t>(header.kind));
  store_be16(out, 6, header.back_label.value());
  store_be64(out, 8, header.run.value());
  store_be32(out, 16, header.batch.value());
  store_be32(out, 20, header.nic.value());
  store_be32(out, 24, header.spec);
  store_be32(out, 28, header.sequence);
  store_be64(out, 32, static_cast<std::uint64_t>(header.sent_at.count()));
  store_be32(out, 40, clamp_turnaround(header.turnaround));
  const auto authenticator =
      authenticator_of(out, envelope.source, envelope.destination, envelope.source_port, key);
  std::memcpy(out.data() + kAuthenticated, &authenticator, sizeof authenticator);
}

bool authenticate(ByteSpan payload, const ProbeEnvelope& envelope, const RunKey& key) {
  if (payload.size() < kProbeHeaderSize) return false;
  return is_authentic(payload.first<kProbeHeaderSize>(), envelope.source, envelope.destination,
                      envelope.source_port, key);
}

std::uint32_t first_psn(const ProbeHeader& header, const RunKey& key) {
  std::array<std::byte, 12> input;
  store_be32(input, 0, header.batch.value());
  store_be32(input, 4, header.nic.value());
  store_be32(input, 8, header.spec);
  const auto hash = hash_of(input, key);
  return load_be24(std::as_bytes(std::span(&hash, 1)), 0);
}

std::uint16_t first_identification(BatchId batch, const RunKey& key) {
  std::array<std::byte, 4> input;
  store_be32(input, 0, batch.value());
  const auto hash = hash_of(input, key);
  return load_be16(std::as_bytes(std::span(&hash, 1)), 0);
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
  if (const auto plain = read_plain_probe(frame)) return *plain;
  WEFT_TRY(const auto ethernet, decode_ethernet(frame));
  WEFT_TRY(const auto ip, decode_ip(frame.subspan(ethernet.size)));
  return decode_probe_packet(ethernet.header, ip);
}

bool authenticate(const ProbePacket& packet, const RunKey& key) {
  WEFT_CHECK(packet.ip.payload.size() >= kBeforeHeader + kProbeHeaderSize);
  const auto header = packet.ip.payload.subspan(kBeforeHeader).first<kProbeHeaderSize>();
  return is_authentic(header, packet.ip.source, packet.ip.destination, packet.label, key);
}

Result<ProbePacket> decode_probe_frame(ByteSpan frame, const RunKey& key) {
  auto packet = decode_probe_frame(frame);
  if (packet) packet->authentic = authenticate(*packet, key);
  return packet;
}

}  // namespace weft::packet
