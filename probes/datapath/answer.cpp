#include "probes/datapath/answer.hpp"

#include "probes/packet/address_words.hpp"
#include "probes/packet/icmp.hpp"
#include "probes/packet/plain_probe.hpp"

namespace weft::datapath {
namespace {

/// The quoted probe's header. A quote that holds all of it but was not made with the key is a forgery: `ours`
/// is false then.
struct QuotedHeader {
  bool ours = true;
  std::optional<packet::ProbeHeader> header;
};

QuotedHeader read_quoted_header(const packet::IpPacket& quoted, UdpPort label, const KeyOfQuoted& key_of) {
  constexpr auto before = packet::kUdpSize + packet::kBthSize + packet::kDethSize;
  if (quoted.payload.size() < before + packet::kProbeHeaderSize) return {};
  const auto payload = quoted.payload.subspan(before);
  const auto header = packet::decode_probe_header(payload);
  const auto* key = header ? key_of(*header, quoted.destination) : nullptr;
  const bool ours =
      key != nullptr && packet::authenticate(payload, {quoted.source, quoted.destination, label}, *key);
  return {ours, ours ? std::optional(*header) : std::nullopt};
}

/// The router that had the probe in hand speaks of itself: hops ran out, or no route (RFC 792: net and host
/// unreachable; RFC 4443: no route, address unreachable). Port and administrative refusals come from others.
bool names_a_hop(const packet::IcmpError& error, bool is_v6) {
  if (error.kind == packet::IcmpKind::time_exceeded) return true;
  constexpr std::uint8_t kNetUnreachable = 0;
  constexpr std::uint8_t kHostUnreachable = 1;
  constexpr std::uint8_t kNoRoute6 = 0;
  constexpr std::uint8_t kAddressUnreachable6 = 3;
  if (error.kind != packet::IcmpKind::unreachable) return false;
  return is_v6 ? error.code == kNoRoute6 || error.code == kAddressUnreachable6
               : error.code == kNetUnreachable || error.code == kHostUnreachable;
}

std::optional<HopsRanOut> read_hop(const packet::IpPacket& packet, const LocalNic& nic,
                                   const KeyOfQuoted& key_of) {
  const auto error = packet::decode_icmp(packet);
  if (!error || !names_a_hop(*error, packet.source.is_v6())) return std::nullopt;
  const auto quoted = packet::decode_ip(error->quoted, packet::IpInput::quoted);
  if (!quoted || quoted->source != nic.address || quoted->protocol != packet::kProtocolUdp)
    return std::nullopt;
  const auto udp = packet::decode_udp(quoted->payload);
  if (!udp || udp->destination != packet::kRocePort) return std::nullopt;
  const auto [ours, header] = read_quoted_header(*quoted, udp->source, key_of);
  if (!ours) return std::nullopt;
  return HopsRanOut{.from = packet.source,
                    .destination = quoted->destination,
                    .label = udp->source,
                    .identification = quoted->identification,
                    .header = header};
}

}  // namespace

std::optional<HopsRanOut> read_hops_ran_out(ByteSpan frame, const LocalNic& nic, const KeyOfQuoted& key_of) {
  const auto ethernet = packet::decode_ethernet(frame);
  if (!ethernet) return std::nullopt;
  const auto ip = packet::decode_ip(frame.subspan(ethernet->size));
  if (!ip || ip->destination != nic.address || ip->protocol == packet::kProtocolUdp) return std::nullopt;
  return read_hop(*ip, nic, key_of);
}

std::optional<Answer> AnswerReader::echo_of(const packet::ProbePacket& packet) {
  if (packet.header.kind != packet::ProbeKind::echo || packet.header.run != secrets_.run ||
      !authenticate(packet, authenticator_))
    return std::nullopt;
  return std::optional<Answer>(std::in_place, std::in_place_type<Echo>, packet.header, packet.ip.source,
                               packet.intact);
}

std::optional<Answer> AnswerReader::read(ByteSpan frame) {
  if (read_plain_probe(frame, plain_))
    return packet::is_same(plain_.ip.destination, nic_.address) ? echo_of(plain_) : std::nullopt;
  const auto ethernet = packet::decode_ethernet(frame);
  if (!ethernet) return std::nullopt;
  const auto ip = packet::decode_ip(frame.subspan(ethernet->size));
  if (!ip || ip->destination != nic_.address) return std::nullopt;
  if (ip->protocol != packet::kProtocolUdp) {
    const auto ran_out = read_hop(*ip, nic_, [this](const auto& header, const auto&) {
      return header.run == secrets_.run ? &secrets_.key : nullptr;
    });
    return ran_out ? std::optional<Answer>(*ran_out) : std::nullopt;
  }
  const auto packet = packet::decode_probe_packet(ethernet->header, *ip);
  return packet ? echo_of(*packet) : std::nullopt;
}

}  // namespace weft::datapath
