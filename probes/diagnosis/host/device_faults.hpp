// Faults that a device shows by itself: a port that is down, a PCIe link below what both its ends can. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/findings/host_inventory.hpp"
#include "topology/findings/host_trouble.hpp"
#include "topology/findings/verdict.hpp"

namespace weft::diagnosis {

struct DeviceFault {
  HostTrouble trouble = HostTrouble::pcie_link;
  Verdict verdict = Verdict::degraded;
  std::optional<Cause> cause = std::nullopt;
  std::string text;
};

std::vector<DeviceFault> device_faults(const NicInventory& nic);
/// Of a GPU only the width of its link counts: an idle GPU lowers the speed to save power.
std::vector<DeviceFault> device_faults(const GpuInventory& gpu);

}  // namespace weft::diagnosis
