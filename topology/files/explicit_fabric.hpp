// The explicit form of a fabric file: `nodes:` and `links:` one by one.
#pragma once

#include <string>

#include "topology/files/yaml_tree.hpp"
#include "topology/model/fabric.hpp"

namespace weft {

/// Reads nodes {name, kind, tier, pod, plane, guid, ports} and links {a, b, rate}. A switch without a tier
/// takes it from its distance to the nearest host; an end without a port takes the node's next free one.
Result<Fabric> read_explicit_fabric(std::string name, FabricKind kind, YamlView nodes, YamlView links);

}  // namespace weft
