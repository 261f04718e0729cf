// What an InfiniBand fabric would say of itself if it were built as designed: for the lab, which needs GUIDs,
// port numbers, widths and speeds where a fabric file has names and rates.
#pragma once

#include "topology/model/infiniband.hpp"

namespace weft {

class Fabric;

/// Each NIC an adapter of its own; GUIDs are the fabric's, the others count in the order of nodes and ports.
/// The fabric's fastest links are 4x of their speed, `fastest` at most; slower ones as many lanes fewer, or
/// slower lanes.
InfinibandInventory design_inventory(const Fabric& fabric, LinkSpeed fastest = LinkSpeed::xdr);

/// Gives every switch a LID and every NIC 2^lmc, as a subnet manager does: those of a NIC begin at a multiple
/// of their number. An Error: there are not as many, or a switch has more ports than InfiniBand can name.
Result<void> assign_lids(const Fabric& fabric, std::uint8_t lmc, InfinibandInventory& inventory);

}  // namespace weft
