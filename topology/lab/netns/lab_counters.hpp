// What the kernel counted on the cables of a lab.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/lab/netns/lab.hpp"

namespace weft {

/// Bytes of frames, Ethernet headers included, that have come out of each channel since the lab came up;
/// indexed by channel.
Result<std::vector<std::uint64_t>> carried_bytes(const Lab& lab);

}  // namespace weft
