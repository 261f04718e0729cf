#include "topology/findings/host_inventory.hpp"

#include <algorithm>

namespace weft {

const GpuInventory* gpu_near(const HostInventory& host, std::string_view served_as) {
  const auto nic = std::ranges::find_if(
      host.nics, [&](const NicInventory& n) { return n.served_as == served_as || n.interface == served_as; });
  const auto has = [](const GpuInventory& gpu, const std::optional<std::string>& name) {
    return name && std::ranges::count(gpu.nearest_nics, *name) > 0;
  };
  for (const GpuInventory& gpu : host.gpus)
    if (nic != host.nics.end() &&
        (has(gpu, nic->interface) || has(gpu, nic->rdma_device) || has(gpu, nic->pci)))
      return &gpu;
  return host.gpus.empty() ? nullptr : &host.gpus.front();
}

std::string name_of(const NicInventory& nic) {
  for (const auto& name : {nic.interface, nic.rdma_device, nic.pci})
    if (name) return *name;
  return "a NIC without a name";
}

}  // namespace weft
