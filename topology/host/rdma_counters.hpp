// The counters of an RDMA device's port, from a sysfs tree: those of the port (counters/, the standard's) and
// those of the device (hw_counters/, the driver's own); and which device an interface has.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "topology/findings/nic_counters.hpp"

namespace weft::host {

/// The device one of whose GIDs belongs to the interface of this name: its queue pairs send by it.
std::optional<std::string> rdma_device_of(const std::filesystem::path& sys, const std::string& interface);

/// Of the device that goes by this name, or one of whose GIDs belongs to the interface of this name; absent
/// where there is none. A file that holds no number is left out. `now` becomes the time of the reading.
std::optional<NicCounters> rdma_counters(const std::filesystem::path& sys, const std::string& name,
                                         Nanoseconds now);

}  // namespace weft::host
