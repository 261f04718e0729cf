// What was read of the NICs of a host, for people, and as weft.counters/1 (counter_file.hpp), which every
// command with --counters reads back. Pure.
#pragma once

#include <string>
#include <vector>

#include "topology/base/units.hpp"
#include "topology/findings/nic_reading.hpp"

namespace weft::counters {

/// One interface at a time. `port`: its name in the fabric ("host1/p1"), or the interface, of `host`.
struct NicAt {
  Nanoseconds at{};  // since 1970
  std::string port;
  NicReading reading;
};

/// JSON Lines. `host` stands before ports that are no names of the fabric; empty: they are. `boot`: of this
/// boot of the host, for counters begin anew with it. `agent`: the version of the agent that tells them;
/// empty: none does. Beside the counters stand `driver`, `firmware`, `pci`, `pci_id`, `bits_per_second` (of
/// the link), `celsius` (of the NIC), `module_celsius`, `gpu_celsius` (of its host), `fec`, `module`, `pcie`
/// and `not_read`; readers of counters pass over those that they do not know.
std::string nic_lines(const std::string& host, const std::string& boot, const std::vector<NicAt>& nics,
                      const std::string& agent = {});

std::string nic_text(const std::vector<NicAt>& nics, std::size_t width);

/// "-3.2 dBm", "no light" of nothing.
std::string dbm_text(double milliwatts);

}  // namespace weft::counters
