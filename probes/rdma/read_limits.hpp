// ReadLimits: how many RDMA reads of one queue pair may be under way. A device serves only so many of a
// peer's at a time, and asks for only so many of its own; both ends must be connected with what both can.
// Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft {

struct ReadLimits {
  std::uint8_t asks = 1;    // of its own, on their way (max_qp_init_rd_atom of ibv_query_device(3))
  std::uint8_t serves = 1;  // of the peer's, at a time (max_qp_rd_atom)
  friend bool operator==(const ReadLimits&, const ReadLimits&) = default;
};

/// What a queue pair of this side is to be connected with; `of_use`: messages that are ever under way.
inline ReadLimits agree(const ReadLimits& ours, const ReadLimits& theirs, std::uint32_t of_use) {
  const auto least = [of_use](std::uint8_t one, std::uint8_t other) {
    return static_cast<std::uint8_t>(std::min<std::uint32_t>({one, other, of_use}));
  };
  return {.asks = least(ours.asks, theirs.serves), .serves = least(ours.serves, theirs.asks)};
}

}  // namespace weft
