// Which NICs probe each other: few pairs that between them cross every tier from every leaf.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/base/ids.hpp"

namespace weft {
class Fabric;
}

namespace weft::plan {

struct NicPair {
  PortId src;
  PortId dst;
  friend auto operator<=>(const NicPair&, const NicPair&) = default;
};

/// Ordered pairs, each with its reverse, ascending: every NIC of every edge switch gets about `partners`
/// partners on other edge switches, spread evenly over them; on the same switch where there is no other. And
/// one on its own switch: without such pairs a switch's host cables cannot be told from its uplinks. NICs
/// cabled to no switch, and those in `without`, take no part.
std::vector<NicPair> choose_pairs(const Fabric& fabric, std::uint32_t partners,
                                  const std::vector<PortId>& without = {});

/// The partners that show every pair of edge switches in a small fabric (and at least two, so that a NIC's
/// cable is told from its partner's), and keep to few in a large one (at
/// most kMaxSmallPairs ordered pairs count as small); without the NICs of `without`.
std::uint32_t default_partners(const Fabric& fabric, const std::vector<PortId>& without = {});

}  // namespace weft::plan
