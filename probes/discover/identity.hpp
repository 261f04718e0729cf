// Which node and NIC of the expected fabric each of the found one is: by GUID, by name, by its cables.
// Internal to discover/.
#pragma once

#include <optional>
#include <vector>

#include "topology/base/ids.hpp"

namespace weft {
class Fabric;
}

namespace weft::discover {

struct Identities {
  std::vector<std::optional<NodeId>> found_switch;  // by expected node
  std::vector<std::optional<PortId>> found_nic;     // by expected port: those whose GUID is there
  std::vector<bool> is_there;                       // by expected node
  std::vector<std::optional<NodeId>> node_of_port;  // by found port
  std::vector<std::optional<PortId>> nic_of_port;   // by found port: the other way of found_nic
};

Identities identify(const Fabric& expected, const Fabric& found);

}  // namespace weft::discover
