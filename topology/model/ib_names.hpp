// Names for the nodes of an InfiniBand subnet, out of what they say of themselves.
#pragma once

#include "topology/model/ib_subnet.hpp"

namespace weft {

/// What a node description says: "host7 mlx5_2" is device 2 of host7, "MF0;leaf1:MQM9700/U1" is leaf1.
struct IbDescription {
  std::string name;  // fit for a Fabric; empty when nothing usable is there
  std::optional<std::uint32_t> device = std::nullopt;
  bool is_aggregation_node = false;
};
IbDescription read_description(std::string_view description);

/// A name that a maker or an installer gave: many nodes have it, and one that lost its own falls back to it.
bool is_unnamed(std::string_view name);

/// Two names of one node: equal but for the GUID behind one that is not the only one of its kind, and as far
/// as a description has room for them.
bool same_name(std::string_view a, std::string_view b);

/// `a` before `b` as people count: host2 before host10.
bool natural_less(std::string_view a, std::string_view b);

/// The name of every node of the subnet, in its order: from the map, else from its description. Adapters of
/// one host share a name, unless it is one that nobody gave (is_unnamed); otherwise a name that stands twice
/// gets the GUID behind it.
std::vector<std::string> name_nodes(const IbSubnet& subnet, const IbNodeNames& names);

}  // namespace weft
