#include "probes/watch/standing_responder.hpp"

namespace weft::watch {

std::size_t StandingResponder::take(const StandingKeys::Read& probe, Nanoseconds at, Nanoseconds now,
                                    MutableByteSpan reply) {
  const auto& [packet, key] = probe;
  const auto& asked = packet.header;
  if (asked.kind != packet::ProbeKind::probe) return 0;
  const auto count = counts_.count(asked.nic, asked.batch, asked.spec, asked.sequence, now);
  if (!count) return 0;
  CarriedProbe echo = packet;
  echo.header.kind = packet::ProbeKind::echo;
  echo.header.back_label = UdpPort(*count);  // the label that the echo itself takes says what stood here
  echo.header.turnaround = now - at;
  echo.from = nic_.address;
  echo.to = packet.from;
  echo.label = PathLabel(asked.back_label.value());
  return codec_.write(nic_, echo, key, reply);
}

}  // namespace weft::watch
