// The fabric that cables make: its nodes in their tiers, its ports with their numbers, names and addresses.
// Internal to discover/.
#pragma once

#include "probes/discover/found_fabric.hpp"

namespace weft::discover {

struct FoundEnd {
  std::string node;
  std::string port;  // its name; of a NIC its interface
  std::optional<IpAddress> address = std::nullopt;
};
struct FoundCable {
  FoundEnd a;
  FoundEnd b;
  std::optional<Bandwidth> rate = std::nullopt;
  std::string source = {};  // of records
  bool refused = false;
};
struct CabledFabric {
  Fabric fabric;
  AddressBook addresses;
  std::size_t rates_assumed = 0;  // cables whose rate nobody told
};

bool is_host(const FoundSources& sources, const std::string& node);

/// `switches`: names of the traced switches. Errors: invalid_input (no cable; a name that no node can have).
Result<CabledFabric> fabric_of_cables(const FoundSources& sources, std::vector<FoundCable> cables,
                                      const std::vector<std::string>& switches);

}  // namespace weft::discover
