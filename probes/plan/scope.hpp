// What of a fabric the jobs of some hosts can use: channels that no path between these hosts crosses are of
// no concern to them, and their lack is no gap.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "probes/plan/pairs.hpp"

namespace weft::plan {

/// The channels of all ways from one NIC to another.
using ChannelsOfPair = std::function<std::vector<ChannelId>(const NicPair&)>;

/// `used`: by channel; those between hosts and switches are not looked at. `labels`: of a NIC, the most.
/// However few the channels crossed: at most kMaxTableRoutes ways of a label, so that a large fabric takes
/// seconds. NICs in `without` take no part.
std::vector<NicPair> choose_table_pairs(const Fabric& fabric, const std::vector<bool>& used,
                                        std::size_t labels, const ChannelsOfPair& channels,
                                        const std::vector<PortId>& without = {});

inline constexpr std::size_t kMaxTableRoutes = 200'000;

/// By channel: on a shortest path between two of `nics` over the fabric as designed, any of the equal ones
/// (ECMP), their own cables in both directions included. A NIC that reaches no other has none.
std::vector<bool> channels_in_scope(const Fabric& fabric, std::span<const PortId> nics);

/// The same where tables give the ways (InfiniBand): on a way from one of `nics` to another.
std::vector<bool> channels_in_scope(const Fabric& fabric, std::span<const PortId> nics,
                                    const ChannelsOfPair& ways);

}  // namespace weft::plan
