// Silent corruption: a transfer whose packets all passed their checks and whose memory still differs from
// what was sent. The wire cannot have done that: the memory, the PCIe link or the device of one of the two
// hosts did. From verified transfers to host findings. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/findings/observation.hpp"

namespace weft {
class Fabric;
}

namespace weft::diagnosis {

/// One transfer, verified by its receiver.
struct VerifiedTransfer {
  PortId from;
  PortId to;
  std::uint64_t bytes = 0;
  bool differs = false;
  std::uint64_t differing = 0;                        // bytes; zero: nobody counted them
  std::optional<std::uint64_t> first = std::nullopt;  // the lowest offset that differs
};

/// The NICs whose hosts explain all bad transfers, as few as are found by taking the one that explains most
/// first; a NIC that also took part in good transfers of the same direction explains less than one that took
/// part in none. Where a bad transfer's two ends cannot be told apart, both are named, and the text says so.
/// In the order of ids.
std::vector<HostEvidence> silent_corruption(const Fabric& fabric,
                                            const std::vector<VerifiedTransfer>& transfers);

}  // namespace weft::diagnosis
