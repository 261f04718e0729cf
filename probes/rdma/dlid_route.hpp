// How an InfiniBand label, a destination LID, becomes the address vector of a queue pair: a port whose LMC is
// m answers to 2^m LIDs from its base on, each with its own route through the switches. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "topology/base/ids.hpp"
#include "topology/base/result.hpp"
#include "topology/model/infiniband.hpp"
#include "topology/model/path.hpp"

namespace weft {

struct DlidRoute {
  Lid dlid;
  std::uint8_t src_path_bits = 0;  // of our own LIDs, the one that packets say they come from
  friend bool operator==(const DlidRoute&, const DlidRoute&) = default;
};

/// `label`: of the packets to the peer (absent: its base LID); `back_label`: of the peer's packets to us, so
/// that they come to the LID ours come from (absent: our base). Errors: invalid_input (a label that is none
/// of the port's LIDs; says which it has).
Result<DlidRoute> dlid_route(LidRange peer, std::optional<PathLabel> label, LidRange own,
                             std::optional<PathLabel> back_label);

}  // namespace weft
