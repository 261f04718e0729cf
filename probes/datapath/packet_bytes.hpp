// Whether a count of packets and a count of their bytes can both be true. Pure.
#pragma once

#include <cstdint>

namespace weft {

/// So many bytes in so many IP packets of 1 to 65,535 each.
constexpr bool fit(std::uint64_t bytes, std::uint64_t packets) {
  constexpr std::uint64_t kMaxPacketBytes = 65'535;
  return packets == 0 ? bytes == 0 : bytes >= packets && (bytes - 1) / kMaxPacketBytes < packets;
}

}  // namespace weft
