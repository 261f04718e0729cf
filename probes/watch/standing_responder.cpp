#include "probes/watch/standing_responder.hpp"

#include <utility>

namespace weft::watch {

void StandingKeys::renew(const Assignment& assignment) {
  before_ = std::exchange(now_, {assignment.secrets, datapath::RunNics(assignment.asked)});
}

const StandingKey* StandingKeys::of(RunId run) const {
  if (run == now_.secrets.run) return &now_;
  return run == before_.secrets.run ? &before_ : nullptr;
}

std::optional<packet::ProbePacket> StandingKeys::read(ByteSpan frame) const {
  for (const StandingKey* key : {&now_, &before_}) {
    const auto packet = packet::decode_probe_frame(frame, key->secrets.key);
    if (!packet) return std::nullopt;
    if (packet->authentic && packet->header.run == key->secrets.run) return *packet;
    if (packet->header.run != before_.secrets.run) return std::nullopt;
  }
  return std::nullopt;
}

bool StandingKeys::may_ask(const packet::ProbePacket& probe) const {
  for (const StandingKey* key : {&now_, &before_})
    if (key->secrets.run == probe.header.run && key->asked.is_at(probe.header.nic, probe.ip.source))
      return true;
  return false;
}

std::size_t StandingResponder::take(const packet::ProbePacket& probe, Nanoseconds at, Nanoseconds now,
                                    MutableByteSpan reply) {
  const auto& asked = probe.header;
  const auto* key = keys_.of(asked.run);
  if (key == nullptr || !probe.intact || asked.kind != packet::ProbeKind::probe ||
      probe.ip.destination != nic_.address || !keys_.may_ask(probe))
    return 0;
  const auto size = probe.ip.bytes.size();
  if (size != packet::probe_size(size, nic_.address.is_v6())) return 0;  // nothing that a prober sends
  const auto count = counts_.count(asked.nic, asked.batch, asked.spec, asked.sequence, now);
  if (!count) return 0;
  auto header = asked;
  header.kind = packet::ProbeKind::echo;
  header.back_label = UdpPort(*count);  // the echo's own source port says what stood here
  header.turnaround = now - at;
  const packet::ProbeRoute route{.from_mac = nic_.mac,
                                 .to_mac = probe.ethernet.source,
                                 .from = nic_.address,
                                 .to = probe.ip.source,
                                 .label = asked.back_label,
                                 .traffic_class = nic_.traffic_class,
                                 .identification = probe.ip.identification.value_or(0)};
  return encode_probe_frame(route, header, key->secrets.key, size, reply);
}

}  // namespace weft::watch
