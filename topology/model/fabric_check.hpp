// What a fabric is made of, and what is odd about it: for people who write fabric files.
#pragma once

#include <string>
#include <vector>

namespace weft {

class Fabric;

/// Nodes or links of one sort.
struct FabricPart {
  std::string what;  // "leaf", "host to leaf", ...
  std::size_t count = 0;
};

struct FabricSummary {
  std::vector<FabricPart> nodes;  // by tier, from the hosts up
  std::vector<FabricPart> links;  // by the tiers they join, and rate
  std::size_t nics = 0;
};

FabricSummary summarise(const Fabric& fabric);

/// One line each, most important first: parts without a way between them, nodes and ports without a cable,
/// links too slow to be any, leaves that have fewer or slower uplinks than their fellows. Empty: nothing odd.
/// At most `most` lines of each sort, then how many more.
std::vector<std::string> oddities(const Fabric& fabric, std::size_t most = 10);

}  // namespace weft
