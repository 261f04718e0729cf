// FabricBuilder: the one way to make a Fabric. Add nodes, ports and links in any order that names what
// exists, then build() once. Every add_* refuses what would contradict what is there and says why.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "topology/model/fabric.hpp"

namespace weft {

class FabricBuilder {
 public:
  FabricBuilder(std::string name, FabricKind kind);

  /// A node name is letters, digits, '.', '_', ':' and '-' (not "--" nor "->"), 1 to 64 characters, unique.
  Result<NodeId> add_node(Node node);
  /// A port with a number not yet used on that node, without a cable.
  Result<PortId> add_port(NodeId node, PortNumber number, std::optional<Guid> guid = std::nullopt);
  /// What the switch calls it: is_port_name(), and no other port of that node is called so.
  Result<void> name_port(PortId port, std::string name);
  /// The port after the highest number of that node.
  PortId add_next_port(NodeId node);
  /// A cable between two ports that have none, on different nodes; the rate above zero.
  Result<LinkId> add_link(PortId a, PortId b, Bandwidth rate);
  /// A cable on the next free port number of both nodes. Precondition: a != b.
  LinkId connect(NodeId a, NodeId b, Bandwidth rate);

  std::optional<NodeId> find_node(std::string_view name) const;
  std::optional<PortId> find_port(NodeId node, PortNumber number) const;
  std::optional<PortId> find_port(NodeId node, std::string_view name) const;
  const Node& node(NodeId id) const { return fabric_.nodes_[id.value()]; }

  Fabric build() &&;

 private:
  Fabric fabric_;
  std::map<std::pair<NodeId, std::string>, PortId, std::less<>> named_;
};

}  // namespace weft
