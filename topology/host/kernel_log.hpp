// What the kernel's log says of broken devices since the host started: Xids of NVIDIA's driver, uncorrectable
// memory errors, uncorrected PCIe errors, an mlx5 device that gave up. Lines that a program causes (an Xid of
// a bad kernel launch) are no offences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/base/result.hpp"
#include "topology/findings/host_facts.hpp"

namespace weft::host {

/// Of a log as dmesg prints it, with times before its lines or without. By kind, device and code.
std::vector<KernelOffence> offences_in(std::string_view log);

/// The messages of the kernel itself out of /dev/kmsg, a line each. Error: permission, absent.
Result<std::string> read_kernel_log();

}  // namespace weft::host
