// The names that a lab gives to things of the kernel, and the addresses of its management network.
#pragma once

#include <string>
#include <string_view>

#include "topology/base/ip.hpp"
#include "topology/model/fabric.hpp"

namespace weft::lab {

/// 1 to 32 letters, digits, '-' and '_', not starting with '-'.
Result<void> check_lab_name(std::string_view name);

std::string namespace_name(std::string_view lab, std::string_view node);  // weft-demo-host1
std::string management_namespace_name(std::string_view lab);              // weft-demo-mgmt~

/// An interface is named after its port, in every namespace: p1, p2, ...
std::string interface_name(PortNumber number);
std::string mac_of(PortId port);  // 02:77:..., locally administered
/// A guest's NIC has mac_of its port; the near end of its cable, which only bridges, has this one.
std::string bridged_mac_of(PortId port);                    // 02:7a:...
std::string management_mac_of(std::size_t host);            // of a guest: 02:78:...
std::string guest_tap_name(std::string_view interface);     // tap-p1, in the host's namespace
std::string guest_bridge_name(std::string_view interface);  // br-p1

/// Management network: 172.31.0.0/16, the coordinator at 172.31.0.1, host number i (from 0) after it.
inline constexpr std::string_view kManagementInterface = "mgmt";
inline constexpr std::string_view kManagementBridge = "br0";
inline constexpr int kManagementPrefixLength = 16;
IpAddress coordinator_management_address();
IpAddress host_management_address(std::size_t host);

}  // namespace weft::lab
