#include "topology/findings/host_inventory.hpp"

namespace weft {

std::string name_of(const NicInventory& nic) {
  for (const auto& name : {nic.interface, nic.rdma_device, nic.pci})
    if (name) return *name;
  return "a NIC without a name";
}

}  // namespace weft
