// Which NICs probe each other where the paths are known beforehand, from forwarding tables: few pairs, and
// more of them until they cross every channel that some route takes.
#pragma once

#include <functional>

#include "probes/plan/pairs.hpp"

namespace weft {

/// The channels of all ways from one NIC to another.
using ChannelsOfPair = std::function<std::vector<ChannelId>(const NicPair&)>;

/// `used`: by channel; those between hosts and switches are not looked at. `labels`: of a NIC, the most.
/// However few the channels crossed: at most kMaxTableRoutes ways of a label, so that a large fabric takes
/// seconds. NICs in `without` take no part.
std::vector<NicPair> choose_table_pairs(const Fabric& fabric, const std::vector<bool>& used,
                                        std::size_t labels, const ChannelsOfPair& channels,
                                        const std::vector<PortId>& without = {});

inline constexpr std::size_t kMaxTableRoutes = 200'000;

}  // namespace weft
