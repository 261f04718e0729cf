// LabScripts: a fabric as the words that make the kernel behave like it: sysctls, and lines for `ip -batch`,
// `tc -batch`. Pure: lab_up runs them, and healing runs parts of them again, so every line may be run twice.
// Order: namespaces and their sysctls, cables, addresses (`node`, `port`) everywhere, then `routes`, because
// a nexthop needs its interface up.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "topology/lab/netns/routes.hpp"
#include "topology/model/lab_settings.hpp"

namespace weft::lab {

struct Sysctl {
  std::string path;  // below /proc/sys
  std::string value;
  bool optional = false;  // a kernel without it will do
};

/// Where the file of a node's namespace lies; absent node: the management namespace.
using NamespacePath = std::function<std::string(std::optional<NodeId>)>;

class LabScripts {
 public:
  /// Keeps references: `fabric` and `plan` outlive it.
  static Result<LabScripts> make(const Fabric& fabric, const LabSettings& settings, const AddressPlan& plan);

  std::vector<Sysctl> sysctls(NodeId node) const;
  std::vector<Sysctl> management_sysctls() const;

  /// `ip -batch`, in any namespace: all veth pairs, of the fabric and of the management network.
  std::string cables(const NamespacePath& path) const;
  /// `ip -batch` in the management namespace.
  std::string management() const;
  /// `ip -4 -batch` in a host: its end of the management network.
  std::string management_end(NodeId host) const;

  // In the namespace of the node, `ip -4 -batch` or `ip -6 -batch` as the family of the lab, but for routes.
  /// What does not hang on a port; once only.
  std::string node(NodeId node) const;
  /// A cabled port: its addresses, neighbour and state, and of a host's port its routes.
  std::string port(PortId port) const;
  /// `ip -batch`: a switch's nexthops, groups and routes, without the ports whose links are down.
  std::string routes(NodeId node, const std::set<LinkId>& down) const;

  /// `tc -batch` in the namespace of the node: every port shaped to the lab's rate; empty: not shaped.
  std::string shaping(NodeId node) const;
  /// What the queue of a port that is shaped to `rate` holds.
  static Bytes queue(Bandwidth rate);
  /// The `tc` line that holds a port to `rate`; absent: that takes the shaping away.
  static std::string shape(const std::string& interface, std::optional<Bandwidth> rate);

  const char* family_option() const { return plan_->family == IpFamily::v4 ? "-4" : "-6"; }

 private:
  LabScripts(const Fabric& fabric, const LabSettings& settings, const AddressPlan& plan,
             std::vector<std::vector<HostRoute>> routes)
      : fabric_(&fabric), settings_(settings), plan_(&plan), routes_(std::move(routes)) {}
  std::string host_port_routes(PortId port) const;
  bool is_guest(NodeId node) const;
  std::string guest_bridges(NodeId host) const;
  PortId other_end(PortId port) const;
  std::string address_text(PortId port) const;

  const Fabric* fabric_;
  LabSettings settings_;
  const AddressPlan* plan_;
  std::vector<std::vector<HostRoute>> routes_;  // per node
};

}  // namespace weft::lab
