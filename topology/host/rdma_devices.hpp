// The RDMA devices of a sysfs tree (class/infiniband): the first port of each.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/findings/host_inventory.hpp"

namespace weft {

/// By name, with what an inventory tells of the RDMA side: device, address, firmware, state, rate, GIDs,
/// traffic class.
std::vector<NicInventory> rdma_devices(const std::filesystem::path& sys);

/// The device's InfiniBand ports, by number, with the GUIDs by which their GIDs are known.
std::map<unsigned, Guid> infiniband_ports(const std::filesystem::path& sys, const std::string& device);
/// What the port says of itself: state, rate, link layer.
void read_rdma_port(const std::filesystem::path& sys, const std::string& device, unsigned port,
                    NicInventory& into);

}  // namespace weft
