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

/// Each in words, with the source. Hosts that are in one of the two only are no difference: a part of the
/// hosts may have been asked, and not all hosts are a scheduler's. Hosts that share a switch belong together
/// (with rails none need share all); a host without a cable belongs nowhere.
std::vector<std::string> differences_from_tree(const Fabric& found, const files::SwitchTree& tree);

}  // namespace weft::discover
