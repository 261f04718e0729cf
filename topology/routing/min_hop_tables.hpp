// Forwarding tables as a subnet manager's min-hop engine fills them: every route as short as the cables
// allow, each switch spreading LIDs evenly over the ports that are, and the LIDs of one NIC over different
// next switches first, so that its labels take different paths. Which of equal ports a LID gets is a tie that
// OpenSM may break otherwise; reach, length and balance are the same.
#pragma once

#include "topology/routing/forwarding_tables.hpp"

namespace weft::routing {

/// LIDs as `fabric`'s inventory has them. Cables in `dead` are not used: what they cut off has no entry.
ForwardingTables fill_min_hop(const InfinibandFabric& fabric, std::span<const LinkId> dead = {});

}  // namespace weft::routing
