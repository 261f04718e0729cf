// Fabric: nodes, ports, links and channels of one training fabric. Immutable once built (FabricBuilder), so
// it is freely shared between threads. Ids are dense indices: nodes, ports, links from 0; channel 2*l leaves
// port a of link l, channel 2*l+1 leaves port b. A NIC is a port of a host.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft {

enum class FabricKind { roce, infiniband };
enum class NodeKind { host, switch_ };
/// How far a node stands above the hosts. Trees of more than three levels of switches go on past `core`: the
/// enumerators stand for their number.
enum class Tier : std::uint8_t { host = 0, leaf = 1, spine = 2, core = 3, tier4 = 4, tier5 = 5, tier6 = 6 };
constexpr std::array kTiers{Tier::host,  Tier::leaf,  Tier::spine, Tier::core,
                            Tier::tier4, Tier::tier5, Tier::tier6};
/// The tier of a switch that many levels above the hosts; what is beyond the last counts as that.
constexpr Tier tier_of_level(std::size_t level) { return kTiers[std::min(level, kTiers.size() - 1)]; }

struct Node {
  std::string name;
  NodeKind kind = NodeKind::switch_;
  Tier tier = Tier::leaf;
  std::optional<std::uint32_t> pod = std::nullopt;  // from 1; three-tier fabrics
  std::optional<std::uint32_t> plane =
      std::nullopt;  // from 1; spines and cores joined to one share of the cores
  /// InfiniBand node GUID, of a host its first adapter's: what the node is, whatever it is called.
  std::optional<Guid> guid = std::nullopt;
};

struct Port {
  NodeId node;
  PortNumber number;                          // from 1, unique within the node
  std::optional<LinkId> link = std::nullopt;  // absent: no cable
  std::optional<Guid> guid = std::nullopt;  // InfiniBand port GUID; NICs: which port it is, whatever its name
  std::string name = {};                    // what its switch calls it, "Ethernet1/6"; empty: not known
};

struct Link {
  PortId a;
  PortId b;
  Bandwidth rate;  // of each direction, as designed
};

class Fabric {
 public:
  const std::string& name() const { return name_; }
  FabricKind kind() const { return kind_; }

  std::size_t node_count() const { return nodes_.size(); }
  std::size_t port_count() const { return ports_.size(); }
  std::size_t link_count() const { return links_.size(); }
  std::size_t channel_count() const { return links_.size() * 2; }

  const Node& node(NodeId id) const { return nodes_[id.value()]; }
  const Port& port(PortId id) const { return ports_[id.value()]; }
  const Link& link(LinkId id) const { return links_[id.value()]; }
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Port> ports() const { return ports_; }
  std::span<const Link> links() const { return links_; }

  /// The ports of a node in the order of their numbers.
  std::span<const PortId> ports_of(NodeId node) const;
  /// All NICs (ports of hosts that have a cable), in the order of hosts, then port numbers.
  std::span<const PortId> nics() const { return nics_; }
  /// The hosts, in the order of the file or builder.
  std::span<const NodeId> hosts() const { return hosts_; }
  bool is_host(NodeId node) const { return this->node(node).kind == NodeKind::host; }

  // Channels.
  static LinkId link_of(ChannelId channel) { return LinkId(channel.value() / 2); }
  static ChannelId reverse(ChannelId channel) { return ChannelId(channel.value() ^ 1U); }
  /// The two directions of a link: leaving port a, leaving port b.
  static ChannelId a_to_b(LinkId link) { return ChannelId(link.value() * 2); }
  static ChannelId b_to_a(LinkId link) { return ChannelId(link.value() * 2 + 1); }
  /// The channel that leaves a port; absent where it has no cable.
  std::optional<ChannelId> channel_from(PortId port) const;
  /// The channels that leave a node, in the order of its ports.
  std::span<const ChannelId> channels_from(NodeId node) const;
  /// The channels that leave a node or arrive there, each beside its reverse.
  std::vector<ChannelId> channels_at(NodeId node) const;
  /// The channel that arrives at a port; absent where it has no cable.
  std::optional<ChannelId> channel_into(PortId port) const;
  PortId source(ChannelId channel) const;
  PortId target(ChannelId channel) const;
  NodeId source_node(ChannelId channel) const { return port(source(channel)).node; }
  NodeId target_node(ChannelId channel) const { return port(target(channel)).node; }
  Bandwidth rate(ChannelId channel) const { return link(link_of(channel)).rate; }
  /// True when neither end is a host.
  bool between_switches(LinkId link) const;
  bool between_switches(ChannelId channel) const { return between_switches(link_of(channel)); }

  // Names. A port is `leaf1/Ethernet1/6` as its switch calls it, `leaf1/p6` where that is not known.
  // `leaf1--spine2`, with ports on both sides where two nodes share several links; `leaf1->spine2`;
  // a NIC is `host1`, or its port where its host has several.
  std::string name_of(LinkId link) const;
  std::string name_of(ChannelId channel) const;
  std::string name_of_nic(PortId port) const;
  const std::string& name_of(NodeId id) const { return node(id).name; }
  std::string name_of(PortId port) const;

  // Look-ups; an Error says what was not found, where the name goes wrong and how such a name looks.
  Result<NodeId> find_node(std::string_view name) const;
  Result<PortId> find_port(std::string_view name) const;  // node/pN, or with the port's name
  Result<LinkId> find_link(
      std::string_view name) const;  // either order of the ends; ports may be given always
  Result<ChannelId> find_channel(std::string_view name) const;
  Result<PortId> find_nic(std::string_view name) const;  // host alone: its first NIC

 private:
  friend class FabricBuilder;
  Fabric() = default;
  /// All links between two nodes.
  std::vector<LinkId> links_between(NodeId a, NodeId b) const;
  Result<LinkId> find_between(std::string_view whole, std::string_view a, std::string_view b) const;
  bool is_bundle_member(LinkId link) const { return shares_nodes_[link.value()]; }

  std::string name_;
  FabricKind kind_ = FabricKind::roce;
  std::vector<Node> nodes_;
  std::vector<Port> ports_;
  std::vector<Link> links_;
  std::vector<std::vector<PortId>> ports_of_;
  std::vector<std::vector<ChannelId>> channels_from_;  // by node
  std::vector<PortId> nics_;
  std::vector<NodeId> hosts_;
  std::vector<bool> shares_nodes_;  // per link: another link joins the same two nodes
  std::unordered_map<std::string, NodeId> by_name_;
};

std::string_view to_string(FabricKind kind);  // roce | infiniband
std::string_view to_string(Tier tier);        // host | leaf | spine | core | tier4 | tier5 | tier6

/// The written form of a node or one of its ports.
struct PortName {
  std::string_view node;
  std::optional<PortNumber> port = std::nullopt;
  std::string_view name = {};  // what the switch calls it; empty where it is given by number or not at all

  bool names_port() const { return port.has_value() || !name.empty(); }
  bool fits(const Port& candidate) const {
    return (!port || candidate.number == *port) && (name.empty() || candidate.name == name);
  }
};

/// Whether a switch's port may be called so: 1 to 64 letters, digits, '.', '_', ':', '/' and single '-' that
/// do not stand at an end. A number alone and `pN` are no names: the one says nothing, the other is a number.
bool is_port_name(std::string_view name);

/// "leaf1/p3", "leaf1/Ethernet1/6" or "leaf1" taken apart; absent when what follows the first slash is no
/// port. Views into `name`.
std::optional<PortName> split_port(std::string_view name);

}  // namespace weft
