// The settings of a NIC on which lossless RoCE depends, by what people call them: which priorities pause
// (PFC), what DSCP maps to which priority, whether DSCP is trusted, where congestion notification (ECN,
// DCQCN) is on. From the kernel's DCB interface (dcb(8) shows the same) and from the files of the vendor's
// driver.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "topology/base/bytes.hpp"
#include "topology/base/result.hpp"

namespace weft::host {

using NicSettings = std::map<std::string, std::string>;

/// class/net/INTERFACE of a sysfs tree: ecn/, qos/ of mlx5 as NVIDIA ships it; what is not there is left out.
NicSettings settings_of_sysfs(const std::filesystem::path& sys, const std::string& interface);

/// Asks the kernel by netlink (DCB_CMD_IEEE_GET); empty where the driver has no DCB.
NicSettings settings_of_kernel(const std::string& interface);

/// What an answer to DCB_CMD_IEEE_GET says; the bytes of the whole message, from its nlmsghdr on. Anything
/// that is no such answer gives nothing.
NicSettings decode_dcb(ByteSpan message);

}  // namespace weft::host
