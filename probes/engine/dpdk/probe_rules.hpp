// Which frames a device with flow rules takes from the kernel: probes, echoes and flows to us, and what
// routers say of those we sent. Each rule reads what no job's packet and no other program's has, so that
// these stay where they are; a device that cannot look so far gets no rule at all.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "probes/engine/dpdk/dpdk_library.hpp"
#include "topology/base/ip.hpp"

namespace weft::dpdk {

/// For the NIC with this address.
std::vector<WeftDpdkRule> probe_rules(const IpAddress& address);

struct OpenedPort {
  WeftDpdkPort* port = nullptr;
  WeftDpdkAbilities has{};
  std::string no_rules;  // why the device has no rules; empty: it has all
};
/// Opens a device in isolated mode with these rules, where it takes each of them; else as it is, all frames
/// coming to it. Error: not_supported (it does not open), in the driver's words.
Result<OpenedPort> open_port(const DpdkLibrary& library, WeftDpdkDevice device,
                             const std::vector<WeftDpdkRule>& rules);

}  // namespace weft::dpdk
