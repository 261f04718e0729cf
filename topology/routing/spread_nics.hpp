// Which few NICs of a fabric see most of it, where not every NIC can have an agent.
#pragma once

#include <vector>

#include "topology/base/ids.hpp"

namespace weft {
class Fabric;
}

namespace weft::routing {

/// At most `most` NICs, in the order they were chosen: each at the edge switch farthest from those that have
/// one, so that pods come before the second leaf of one; of a switch's NICs one whose host has the fewest.
/// One that reaches no other gets a partner, on its own switch where there is none beyond.
std::vector<PortId> spread_nics(const Fabric& fabric, std::size_t most);

}  // namespace weft::routing
