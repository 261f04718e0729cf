// Reads the inventory of a host: of this one, or of one whose trees were captured. hwloc gives the PCIe tree
// (of a captured host from its ROOT/hwloc.xml, as `lstopo hwloc.xml` writes it), sysfs the rest. What cannot
// be read is absent from the inventory, and `gaps` says why; nothing here fails for the sake of one file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "topology/base/result.hpp"
#include "topology/findings/host_inventory.hpp"

namespace weft::host {

struct HostSource {
  /// Where sys/ stands (and hwloc.xml, of a captured host); "/" is this machine: its interfaces are then
  /// those of the network namespace of the calling thread, asked from the kernel.
  std::filesystem::path root = "/";
  /// Interfaces, RDMA devices, GIDs of InfiniBand ports (gid_address) or (of this machine) addresses by which
  /// the agent probes.
  std::vector<std::string> serves;
  /// Several hosts share this machine (a lab): nothing but `serves` is read.
  bool shares_machine = false;
};

Result<HostInventory> read_host(const HostSource& source);

}  // namespace weft::host
