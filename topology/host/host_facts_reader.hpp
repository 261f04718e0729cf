// Reads the report of this host: what a run needs of it, beside its inventory. It sends a connection to the
// coordinator and two small packets to each NIC it is told of; else it only looks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/base/ip.hpp"
#include "topology/base/result.hpp"
#include "topology/findings/host_facts.hpp"

namespace weft::host {

struct NicPair {
  std::string own;  // as HostSource::serves has it: an address
  IpAddress other;
};

struct FactsQuestion {
  std::string version;
  std::uint32_t protocol = 0;
  std::string program;                   // for what is said to be done with it
  std::vector<std::string> serves = {};  // as in HostSource
  std::vector<NicPair> pairs = {};       // which NICs should reach which
  bool shares_machine = false;           // as in HostSource: nothing is told of the machine's devices
  std::vector<std::string> rooms = {};   // where there should be room for files
  std::optional<IpAddress> coordinator = std::nullopt;
  std::uint16_t coordinator_port = 0;
};

/// Error: not_found, where the inventory cannot be read at all.
Result<HostFacts> read_facts(const FactsQuestion& question);

}  // namespace weft::host
