#include "probes/watch/standing_responder.hpp"

namespace weft::watch {

std::size_t StandingResponder::take(const StandingKeys::Read& probe, Nanoseconds at, Nanoseconds now,
                                    MutableByteSpan reply) {
  const auto& [packet, key] = probe;
  const auto& asked = packet.header;
  if (!packet.intact || asked.kind != packet::ProbeKind::probe) return 0;
  const auto size = packet.ip.bytes.size();
  if (size != packet::probe_size(size, nic_.address.is_v6())) return 0;  // nothing that a prober sends
  const auto count = counts_.count(asked.nic, asked.batch, asked.spec, asked.sequence, now);
  if (!count) return 0;
  auto header = asked;
  header.kind = packet::ProbeKind::echo;
  header.back_label = UdpPort(*count);  // the echo's own source port says what stood here
  header.turnaround = now - at;
  const packet::ProbeRoute route{.from_mac = nic_.mac,
                                 .to_mac = packet.ethernet.source,
                                 .from = nic_.address,
                                 .to = packet.ip.source,
                                 .label = asked.back_label,
                                 .traffic_class = nic_.traffic_class,
                                 .identification = packet.ip.identification.value_or(0)};
  return encode_probe_frame(route, header, key, size, reply);
}

}  // namespace weft::watch
