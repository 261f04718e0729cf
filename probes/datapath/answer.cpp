#include "probes/datapath/answer.hpp"

#include "probes/packet/icmp.hpp"

namespace weft {
namespace {

std::optional<Answer> read_echo(ByteSpan frame, const LocalNic& nic, const RunSecrets& secrets) {
  const auto packet = decode_probe_frame(frame, secrets.key);
  if (!packet || !packet->authentic || packet->ip.destination != nic.address) return std::nullopt;
  if (packet->header.kind != ProbeKind::echo || packet->header.run != secrets.run) return std::nullopt;
  return Echo{.header = packet->header, .from = packet->ip.source, .intact = packet->intact};
}

/// The quoted probe's header. A quote that holds all of it but was not made with the key is a forgery: `ours`
/// is false then.
struct QuotedHeader {
  bool ours = true;
  std::optional<ProbeHeader> header;
};

QuotedHeader read_quoted_header(const IpPacket& quoted, UdpPort label, const RunSecrets& secrets) {
  constexpr auto before = kUdpSize + kBthSize + kDethSize;
  if (quoted.payload.size() < before + kProbeHeaderSize) return {};
  const auto payload = quoted.payload.subspan(before);
  const auto header = decode_probe_header(payload);
  const bool ours = header && header->run == secrets.run &&
                    authenticate(payload, {quoted.source, quoted.destination, label}, secrets.key);
  return {ours, ours ? std::optional(*header) : std::nullopt};
}

/// The router that had the probe in hand speaks of itself: hops ran out, or no route (RFC 792: net and host
/// unreachable; RFC 4443: no route, address unreachable). Port and administrative refusals come from others.
bool names_a_hop(const IcmpError& error, bool is_v6) {
  if (error.kind == IcmpKind::time_exceeded) return true;
  constexpr std::uint8_t kNetUnreachable = 0;
  constexpr std::uint8_t kHostUnreachable = 1;
  constexpr std::uint8_t kNoRoute6 = 0;
  constexpr std::uint8_t kAddressUnreachable6 = 3;
  if (error.kind != IcmpKind::unreachable) return false;
  return is_v6 ? error.code == kNoRoute6 || error.code == kAddressUnreachable6
               : error.code == kNetUnreachable || error.code == kHostUnreachable;
}

std::optional<Answer> read_hop(const IpPacket& packet, const LocalNic& nic, const RunSecrets& secrets) {
  const auto error = decode_icmp(packet);
  if (!error || !names_a_hop(*error, packet.source.is_v6())) return std::nullopt;
  const auto quoted = decode_ip(error->quoted, IpInput::quoted);
  if (!quoted || quoted->source != nic.address || quoted->protocol != kProtocolUdp) return std::nullopt;
  const auto udp = decode_udp(quoted->payload);
  if (!udp || udp->destination != kRocePort) return std::nullopt;
  const auto [ours, header] = read_quoted_header(*quoted, udp->source, secrets);
  if (!ours) return std::nullopt;
  return HopsRanOut{.from = packet.source,
                    .destination = quoted->destination,
                    .label = udp->source,
                    .identification = quoted->identification,
                    .header = header};
}

}  // namespace

std::optional<Answer> read_answer(ByteSpan frame, const LocalNic& nic, const RunSecrets& secrets) {
  const auto ethernet = decode_ethernet(frame);
  if (!ethernet) return std::nullopt;
  const auto ip = decode_ip(frame.subspan(ethernet->size));
  if (!ip || ip->destination != nic.address) return std::nullopt;
  return ip->protocol == kProtocolUdp ? read_echo(frame, nic, secrets) : read_hop(*ip, nic, secrets);
}

}  // namespace weft
