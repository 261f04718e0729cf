#include "probes/datapath/probe_transport.hpp"

namespace weft {

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

}  // namespace weft
