// The text that `ibnetdiscover` prints and ibsim reads: nodes by GUID, one line per cabled port. Reads real
// dumps (any link speed up to XDR, comments, a missing side, a dump cut short) and writes them.
#pragma once

#include <string>
#include <string_view>

#include "topology/model/ib_subnet.hpp"

namespace weft::files {

/// What the dump says; what it contradicts or leaves open becomes a remark. An Error: no node in it, or a
/// line that no ibnetdiscover writes (its number is named).
Result<IbSubnet> parse_ibnetdiscover(std::string_view text);

/// The dump of a fabric. Ports that have no cable are left out. `descriptions`: of nodes that describe
/// themselves otherwise than by their names.
std::string write_ibnetdiscover(const Fabric& fabric, const InfinibandInventory& inventory,
                                const IbNodeNames& descriptions = {});

}  // namespace weft::files
