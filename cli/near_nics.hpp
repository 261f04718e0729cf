// Engines whose threads run on the CPUs near their NIC.
#pragma once

#include <optional>

#include "probes/session/work.hpp"
#include "topology/findings/host_inventory.hpp"

namespace weft {

/// Opens engines as `open` does, after holding the calling thread to the CPUs near the NIC that `inventory`
/// tells of: the threads that the engine and its worker start from there inherit that. Where nothing is told,
/// or the system does not let us, they run wherever they like.
OpenEngines near_nics(OpenEngines open, const std::optional<HostInventory>& inventory);

}  // namespace weft
