// A fabric that was found, held against what a scheduler believes: which hosts stand under one switch. A pure
// function.
#pragma once

#include <string>
#include <vector>

#include "topology/files/switch_tree.hpp"

namespace weft {
class Fabric;
}

namespace weft::discover {

/// In words, each with the source.
struct TreeComparison {
  std::vector<std::string> disagreements;
  std::vector<std::string> gaps;  // nodes of one side only: of them nothing is known
};

/// Hosts that share a switch, or that others join so, belong together (with rails none need share all); a
/// host without a cable belongs nowhere. Only switches with hosts are compared, none above them.
TreeComparison compare_with_tree(const Fabric& found, const files::SwitchTree& tree);

}  // namespace weft::discover
