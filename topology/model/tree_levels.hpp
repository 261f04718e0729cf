// How far up a tree each switch stands: 1 beside the hosts, 2 above those, and on. A few hosts at a switch
// that is above leaves (a subnet manager, a gateway) make no leaf of it.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

/// A graph by the numbers of its nodes: cables, each named at both ends, several between two nodes as often.
struct CabledNodes {
  std::vector<bool> is_host;
  std::vector<std::vector<std::uint32_t>> neighbours;
};

/// By node; 0: a host, or no host is near.
std::vector<unsigned> tree_levels(const CabledNodes& nodes);

}  // namespace weft
