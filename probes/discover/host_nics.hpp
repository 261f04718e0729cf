// The NICs of the hosts of a fabric that nobody has described yet: all that a discovery begins with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/files/cable_list.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/files/nic_list.hpp"

namespace weft::discover {

struct HostNic {
  std::string interface;  // as its host calls it
  IpAddress address;
  std::optional<Bandwidth> rate = std::nullopt;
};
struct HostNics {
  std::string host;
  std::vector<HostNic> nics;
};

/// "10.0.0.0/8".
Result<IpPrefix> parse_prefix(std::string_view text);

/// The NICs that take part, in the order of the list, each with its first address that fits: in `subnet`; of
/// RDMA devices, where there is none given and the host has any that is up and has an address; else all that
/// are up, but the one by which the host was reached. Loopback and link-local addresses never.
HostNics choose_nics(const std::string& host, const files::NicList& list,
                     const std::optional<IpPrefix>& subnet);

/// What a host's LLDP table says of its NICs that take part: a management port's switch is none of the
/// fabric.
files::CableList table_of_nics(files::CableList table, const HostNics& host);

/// A stand-in for the fabric to be discovered, for a coordinator and its agents: each NIC, with its address,
/// on one switch called `unknown`. NIC n of a host is its port n. Errors: invalid_input (a name no node can
/// have, an address twice, no NIC at all).
Result<files::FabricFile> fabric_of_hosts(const std::vector<HostNics>& hosts);

}  // namespace weft::discover
