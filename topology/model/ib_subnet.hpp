// IbSubnet: an InfiniBand subnet as its management datagrams or a dump tell it: channel adapters and switches
// by GUID, ports, who is cabled to whom. build_infiniband_fabric() makes a Fabric of it: names, hosts of
// several adapters put together, tiers by distance from the hosts.
#pragma once

#include <map>
#include <unordered_map>

#include "topology/model/fabric.hpp"
#include "topology/model/infiniband.hpp"

namespace weft {

struct IbSubnetPort {
  /// The port at the other end of the cable.
  struct Peer {
    Guid node;
    std::uint8_t port = 0;
    friend bool operator==(const Peer&, const Peer&) = default;
  };
  Guid guid;
  std::optional<LidRange> lids = std::nullopt;
  std::optional<LinkWidth> width = std::nullopt;
  std::optional<LinkSpeed> speed = std::nullopt;
  std::optional<IbPortState> state = std::nullopt;
  std::optional<Peer> peer = std::nullopt;
  bool disabled = false;  // of a switch: somebody took it out of use
};

struct IbSubnetNode {
  bool is_switch = false;
  Guid guid;
  IbNode about;
  std::map<std::uint8_t, IbSubnetPort> ports;  // by number, from 1; only those anything is known of
  bool is_router = false;                      // to another subnet
};

struct IbSubnet {
  std::vector<IbSubnetNode> nodes;
  std::vector<std::string> remarks;
};

/// A fabric and what InfiniBand says of it.
struct InfinibandFabric {
  Fabric fabric;
  InfinibandInventory inventory;
  std::vector<std::string> remarks;  // what was odd on the way, one sentence each
};

/// Names people gave to nodes, by node GUID (the node-name map of infiniband-diags).
using IbNodeNames = std::unordered_map<Guid, std::string>;

/// The text of a node-name map: lines of `0xGUID "name"`, comments from '#'.
Result<IbNodeNames> parse_node_names(std::string_view text);

/// Never fails on a contradiction within the subnet: it leaves the link out and adds a remark. An Error: the
/// subnet has no node.
Result<InfinibandFabric> build_infiniband_fabric(const IbSubnet& subnet, std::string name,
                                                 const IbNodeNames& names = {});

}  // namespace weft
