// Flow rules of a device as DPDK has them (rte_flow): a part of the module, called by dpdk_module.cpp alone.
// One thread at a time for a port.
#pragma once

#include <cstdint>

#include "probes/engine/dpdk/dpdk_module.h"

namespace weft::dpdk {

/// Before the device is configured: from now on only what rules take comes to it. False, with the reason,
/// where it cannot be had.
bool isolate(std::uint16_t port, WeftDpdkError& why_not);
/// Whether the device takes the rule; `apply`: and makes it, into the first queue.
bool take_rule(std::uint16_t port, const WeftDpdkRule& rule, bool apply, WeftDpdkError& why_not);
void drop_rules(std::uint16_t port);

}  // namespace weft::dpdk
