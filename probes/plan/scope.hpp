// What of a fabric the jobs of some hosts can use: channels that no path between these hosts crosses are of
// no concern to them, and their lack is no gap.
#pragma once

#include <span>
#include <vector>

#include "probes/plan/table_pairs.hpp"

namespace weft {

/// By channel: on a shortest path between two of `nics` over the fabric as designed, any of the equal ones
/// (ECMP), their own cables in both directions included. A NIC that reaches no other has none.
std::vector<bool> channels_in_scope(const Fabric& fabric, std::span<const PortId> nics);

/// The same where tables give the ways (InfiniBand): on a way from one of `nics` to another.
std::vector<bool> channels_in_scope(const Fabric& fabric, std::span<const PortId> nics,
                                    const ChannelsOfPair& ways);

}  // namespace weft
