#include "probes/packet/probe_frame.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "probes/packet/authenticator.hpp"
#include "probes/packet/icrc.hpp"
#include "probes/packet/plain_probe.hpp"
#include "probes/packet/probe_header_bytes.hpp"

namespace weft::packet {
namespace {

bool is_authentic(ProbeHeaderBytes header, const IpAddress& source, const IpAddress& destination,
                  UdpPort source_port, const RunKey& key) {
  return stored_authenticator(header) == authenticator_of(header, source, destination, source_port, key);
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
  store_probe_header(header, out);
  store_authenticator(
      out, authenticator_of(out, envelope.source, envelope.destination, envelope.source_port, key));
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
  const auto hash = siphash(input, key);
  return load_be24(std::as_bytes(std::span(&hash, 1)), 0);
}

std::uint16_t first_identification(BatchId batch, const RunKey& key) {
  std::array<std::byte, 4> input;
  store_be32(input, 0, batch.value());
  const auto hash = siphash(input, key);
  return load_be16(std::as_bytes(std::span(&hash, 1)), 0);
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
  return is_authentic(header_of(packet), packet.ip.source, packet.ip.destination, packet.label, key);
}

Result<ProbePacket> decode_probe_frame(ByteSpan frame, const RunKey& key) {
  auto packet = decode_probe_frame(frame);
  if (packet) packet->authentic = authenticate(*packet, key);
  return packet;
}

}  // namespace weft::packet
