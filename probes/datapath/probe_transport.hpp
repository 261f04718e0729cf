// By which queue pairs probes are asked to go, and the words for it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

/// Datagrams (UD), unreliable connections (UC), or whichever of them the device labels.
enum class ProbeTransport : std::uint8_t { by_device, datagram, connected };

/// "auto", "ud" or "uc".
std::string_view to_string(ProbeTransport wish);
std::optional<ProbeTransport> parse_probe_transport(std::string_view text);

}  // namespace weft
