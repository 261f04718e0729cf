// A fabric as the page takes it: columns of numbers, each the step from the one before, so that 73,728 links
// are some ten kilobytes once compressed.
#pragma once

#include <string>

#include "topology/model/fabric.hpp"

namespace weft::web {

/// Up to this many nodes the layout says where each stands (report::layout_of); the page arranges more
/// itself.
inline constexpr std::size_t kMaxPlacedNodes = 120;

/// {"fabric","kind","nodes":{"names":[...],"tiers":[...],"pods":[...],"x":[...],"y":[...]},"width","height",
///  "links":{"a":[...],"b":[...],"a_ports":[...],"b_ports":[...],"rates":[Mbit/s...]},
///  "port_names":{"LINK":[a,b]}}
/// Links and channels are by id; pods count from 1, 0 is none. All number columns but x and y are steps: the
/// first number, then what is added to get the next.
std::string layout_json(const Fabric& fabric);

}  // namespace weft::web
