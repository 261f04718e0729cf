// The explicit form of a fabric file: `nodes:` and `links:` one by one.
#pragma once

#include <string>
#include <vector>

#include "topology/files/yaml_tree.hpp"
#include "topology/model/fabric.hpp"

namespace weft::files {

struct ExplicitFabric {
  Fabric fabric;
  std::vector<std::string> guests;  // hosts that the lab makes guests
};

/// Reads nodes {name, kind, tier, pod, plane, guid, ports, guest} and links {a, b, rate}. A switch without a
/// tier takes it from its distance to the nearest host; an end without a port takes the node's next free one.
Result<ExplicitFabric> read_explicit_fabric(std::string name, FabricKind kind, YamlView nodes,
                                            YamlView links);

}  // namespace weft::files
