#include "probes/packet/probe_frame.hpp"

#include <algorithm>

#include "probes/packet/icrc.hpp"

namespace weft {
namespace {

void encode_ip(const ProbeRoute& route, std::size_t ip_size, MutableByteSpan out) {
  if (route.to.is_v6())
    return encode_ipv6({.traffic_class = route.traffic_class,
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
              .destination = kProbeQueuePair,
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

Result<ProbePacket> decode_probe_frame(ByteSpan frame, const RunKey& key) {
  const auto ethernet = decode_ethernet(frame);
  if (!ethernet) return pass_on(ethernet);
  const auto ip = decode_ip(frame.subspan(ethernet->size));
  if (!ip) return pass_on(ip);
  const auto udp = decode_roce_udp(*ip);
  if (!udp) return pass_on(udp);
  constexpr auto before = kUdpSize + kBthSize + kDethSize;
  if (auto enough = need_bytes(ip->payload, before + kProbeHeaderSize + kIcrcSize, "probe"); !enough)
    return pass_on(enough);
  const auto payload = ip->payload.subspan(before);
  const auto header = decode_probe_header(payload);
  if (!header) return pass_on(header);
  return ProbePacket{.ethernet = ethernet->header,
                     .ip = *ip,
                     .label = udp->source,
                     .header = *header,
                     .authentic = authenticate(payload, {ip->source, ip->destination, udp->source}, key),
                     .intact = load_icrc(ip->bytes) ==
                               compute_icrc(ip->bytes.first(ip->bytes.size() - kIcrcSize), ip->header_size)};
}

}  // namespace weft
