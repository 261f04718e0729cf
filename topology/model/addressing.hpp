// Addresses of a fabric's ports. plan_addresses() gives every cabled port of a fabric an IP address, always
// the same for the same fabric: the lab configures them, the simulator answers with them, the path map turns
// the address of a hop answer back into a port. Each link is a subnet of two addresses (/31, RFC 3021; /127,
// RFC 6164). The links between a switch and its hosts lie in one block, so that the rest of the fabric needs
// one route per such switch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/result.hpp"

namespace weft {

class Fabric;

enum class IpFamily { v4, v6 };
std::string_view to_string(IpFamily family);  // ipv4 | ipv6

struct IpPrefix {
  IpAddress base;
  std::uint8_t length = 0;  // bits
  friend bool operator==(const IpPrefix&, const IpPrefix&) = default;
};
std::string to_string(const IpPrefix& prefix);  // 10.0.1.0/24

/// Port -> address and address -> port, each in constant time. A switch may have an address of its own
/// besides: one from which it answers whichever port a packet came in by.
class AddressBook {
 public:
  AddressBook() = default;
  /// Indexed by port, and by node; absent: that port or node has no address. Precondition: no address twice.
  explicit AddressBook(std::vector<std::optional<IpAddress>> by_port,
                       std::vector<std::optional<IpAddress>> by_node = {});

  bool empty() const { return port_at_.empty() && node_at_.empty(); }
  std::optional<IpAddress> address_of(PortId port) const;
  std::optional<IpAddress> address_of(NodeId node) const;
  std::optional<PortId> port_of(const IpAddress& address) const;
  std::optional<NodeId> node_of(const IpAddress& address) const;

 private:
  std::vector<std::optional<IpAddress>> by_port_;
  std::vector<std::optional<IpAddress>> by_node_;
  std::unordered_map<IpAddress, PortId> port_at_;
  std::unordered_map<IpAddress, NodeId> node_at_;
};

struct AddressPlan {
  IpFamily family = IpFamily::v4;
  AddressBook book;
  /// Indexed by node: the block that holds all links between a switch and its hosts; absent: no hosts on it.
  std::vector<std::optional<IpPrefix>> host_block;

  /// Bits of a link's own subnet: 31 or 127.
  std::uint8_t link_prefix_length() const { return family == IpFamily::v4 ? 31 : 127; }
};

/// IPv4: blocks of hosts from 10.0.1.0 (/24 where that suffices), other links from 10.128.0.0. IPv6: the same
/// offsets in fd00:77:6566:7401::/64 and fd00:77:6566:7402::/64. Error: more links than fit (about 4 million
/// of either sort in IPv4).
Result<AddressPlan> plan_addresses(const Fabric& fabric, IpFamily family);

}  // namespace weft
