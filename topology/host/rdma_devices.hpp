// The RDMA devices of a sysfs tree (class/infiniband): the first port of each.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "topology/findings/host_inventory.hpp"

namespace weft {

/// By name, with what an inventory tells of the RDMA side: device, address, firmware, state, rate, GIDs,
/// traffic class.
std::vector<NicInventory> rdma_devices(const std::filesystem::path& sys);

}  // namespace weft
