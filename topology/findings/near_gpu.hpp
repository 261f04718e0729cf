// Which GPU's memory a NIC moves: that of the GPU nearest by PCIe.
#pragma once

#include <string_view>

#include "topology/findings/host_inventory.hpp"

namespace weft {

/// The GPU that counts the NIC served as `served_as` among its nearest; of several the first by address;
/// where none does, the host's first. Null: the host has no GPU. Valid as long as the inventory.
const GpuInventory* gpu_near(const HostInventory& host, std::string_view served_as);

}  // namespace weft
