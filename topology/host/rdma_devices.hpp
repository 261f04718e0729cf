// The RDMA devices of a sysfs tree (class/infiniband): the first port of each.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/findings/host_inventory.hpp"

namespace weft {

/// By name, with what an inventory tells of the RDMA side: device, address, firmware, state, rate, GIDs,
/// traffic class.
std::vector<NicInventory> rdma_devices(const std::filesystem::path& sys);

/// The GUID of the device's first port, by which its InfiniBand GIDs are known; absent: not InfiniBand.
std::optional<Guid> infiniband_port_guid(const std::filesystem::path& sys, const std::string& device);

}  // namespace weft
