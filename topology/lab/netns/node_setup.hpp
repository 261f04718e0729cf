// NodeSetup: runs LabScripts in the namespaces of a lab.
#pragma once

#include "topology/lab/netns/lab.hpp"
#include "topology/lab/netns/scripts.hpp"

namespace weft::lab {

class NodeSetup {
 public:
  NodeSetup(const Lab& lab, const LabScripts& scripts) : lab_(lab), scripts_(scripts) {}

  /// Bare namespaces with their sysctls, the management network's first.
  Result<void> make_namespaces() const;
  Result<void> lay_cables() const;
  Result<void> set_up_management() const;
  /// Addresses, interfaces up, shaping; of a host its routes.
  Result<void> set_up_node(NodeId node) const;
  /// The routes of a switch, as far as its cables are up.
  Result<void> set_up_routes(NodeId node, const std::set<LinkId>& down) const;
  /// One end of a cable: up again with its addresses, or down.
  Result<void> raise_port(PortId port) const;
  Result<void> lower_port(PortId port) const;
  /// Holds what leaves a port to `rate`; absent: the rate of the lab.
  Result<void> shape_port(PortId port, std::optional<Bandwidth> rate) const;

 private:
  Result<void> batch(NodeId node, const std::vector<std::string>& program, const std::string& lines) const;
  Result<void> in_family(NodeId node, const std::string& lines) const;

  const Lab& lab_;
  const LabScripts& scripts_;
};

/// Runs one of the programs of iproute2, nftables or iptables with `input` in the namespace of `file`. Error
/// absent: the program is not there; says which Debian package has it.
Result<void> run_in_namespace(const std::filesystem::path& file, const std::vector<std::string>& argv,
                              const std::string& input);

}  // namespace weft::lab
