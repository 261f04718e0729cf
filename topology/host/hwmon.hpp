// Temperatures that the kernel's hardware monitors tell of a device
// (Documentation/hwmon/sysfs-interface.rst).
#pragma once

#include <filesystem>

#include "topology/findings/nic_reading.hpp"

namespace weft::host {

/// Of a device's folder in sysfs: hwmon/hwmon*/temp*_input, in thousandths of a degree Celsius. A sensor
/// whose label begins with "module" is of a module, all others are of the device. Left out: those with a
/// fault, and what no electronics has (below -60 or above 250 degrees).
Temperatures hwmon_temperatures(const std::filesystem::path& device);

}  // namespace weft::host
