// One interface of this host, read from its kernel: what counts there, and the module in its cage.
#pragma once

#include <filesystem>

#include "topology/findings/nic_reading.hpp"

namespace weft::host {

/// Of the calling thread's network namespace; `sys` for what the PCI device reports. Reading a module takes a
/// tenth of a second and CAP_NET_ADMIN, and runs mlxlink where that is installed. What cannot be read stands
/// in `not_read` with its reason; nothing is written or cleared.
NicReading read_nic(const std::filesystem::path& sys, const std::string& interface, bool with_module);

}  // namespace weft::host
