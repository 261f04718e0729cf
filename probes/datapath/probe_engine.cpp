#include "probes/datapath/probe_engine.hpp"

#include <algorithm>

namespace weft::datapath {

Result<std::vector<HopAnswer>> trace_without_echo(ProbeEngine& tracer, TraceRequest request,
                                                  std::stop_token stop) {
  for (TraceSpec& spec : request.specs) {
    if (!spec.to_peer) continue;
    spec.max_hops = static_cast<std::uint8_t>(std::max(spec.max_hops - 1, 1));
    spec.first_hop = std::min(spec.first_hop, spec.max_hops);
  }
  auto answers = tracer.trace(request, std::move(stop));
  if (!answers) return answers;
  std::vector<bool> complete(request.specs.size(), false);
  for (const HopAnswer& answer : *answers)
    if (answer.spec < complete.size() && !answer.is_peer && answer.hop == request.specs[answer.spec].max_hops)
      complete[answer.spec] = true;
  for (std::uint32_t i = 0; i < complete.size(); ++i) {
    const TraceSpec& spec = request.specs[i];
    if (complete[i] && spec.to_peer)
      answers->push_back({.spec = i,
                          .hop = static_cast<std::uint8_t>(spec.max_hops + 1),
                          .is_peer = true,
                          .from = request.peers[spec.peer].address});
  }
  return answers;
}

std::string_view to_string(ProbeTransport wish) {
  switch (wish) {
    case ProbeTransport::by_device:
      return "auto";
    case ProbeTransport::datagram:
      return "ud";
    case ProbeTransport::connected:
      return "uc";
  }
  return "auto";
}

std::optional<ProbeTransport> parse_probe_transport(std::string_view text) {
  for (const auto wish : {ProbeTransport::by_device, ProbeTransport::datagram, ProbeTransport::connected})
    if (text == to_string(wish)) return wish;
  return std::nullopt;
}

}  // namespace weft::datapath
