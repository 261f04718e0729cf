// SubnetLinks: the links between switches of a fabric file as they stand in an InfiniBand subnet, and at
// which end each can be taken out of its routes by somebody at our own port. Pure: what was read of the
// subnet in, answers out.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "balancer/export/switch_ways.hpp"
#include "probes/discover/matching.hpp"
#include "probes/discover/subnet_tables.hpp"

namespace weft::exports {

/// A port of a switch of the subnet.
struct SwitchPort {
  Guid node;
  Lid lid;  // of the switch
  std::uint8_t port = 0;
  std::string name;  // as the fabric file has it
  friend bool operator==(const SwitchPort&, const SwitchPort&) = default;
};

/// Where in the found fabric the scan began, and where the subnet manager is.
struct ScanPlace {
  std::optional<NodeId> own_switch;
  bool is_own_switch = false;  // our own port is that switch's
  std::optional<Lid> own_lid;
  std::optional<NodeId> manager_switch;
};

class SubnetLinks {
 public:
  enum class State : std::uint8_t {
    up,
    down,      // both switches are there, the cable is not
    disabled,  // at one end or both
    unknown,   // a switch is not there or does not tell, and may have disabled its end
  };
  struct Seen {
    State state = State::unknown;
    std::string text;                  // for people; the same as long as the state is
    std::vector<SwitchPort> disabled;  // its ends that are
  };

  /// `found` is built of the subnet of `discovery`, and `tables` are read of both. The fabric must outlive
  /// it.
  SubnetLinks(const Fabric& expected, discover::SubnetDiscovery discovery, InfinibandFabric found,
              routing::ForwardingTables tables);
  SubnetLinks(const SubnetLinks&) = delete;
  SubnetLinks& operator=(const SubnetLinks&) = delete;

  /// Precondition: between switches.
  Seen seen(LinkId link) const;

  /// The end at which a link can be disabled, and enabled again: the forwarding tables lead there from our
  /// own port and back without this link, and without it there is still a way, up the tiers and down, from
  /// each switch with hosts, that of the subnet manager and our own to all others of them that have one now,
  /// by links that are active. Errors (conflict): which of that does not hold; there is no subnet manager;
  /// the cable is not at the ports that the file says, or not up.
  Result<SwitchPort> end_to_disable(LinkId link) const;
  /// Whatever is asked from now on, this link is out of use.
  void take_out(LinkId link);
  /// All that was taken out is in use again.
  void restart() { ways_->restart(); }

 private:
  struct End {
    SwitchPort port;
    NodeId node;  // of the found fabric
  };
  std::optional<NodeId> node_of(NodeId expected) const;
  std::optional<End> end_of(PortId expected) const;
  std::optional<LinkId> found_link(LinkId expected) const;
  bool is_at(const SwitchPort& end, LinkId found) const;

  const Fabric& expected_;
  discover::SubnetDiscovery discovery_;
  InfinibandFabric found_;
  routing::ForwardingTables tables_;
  discover::FabricMatch match_;
  std::vector<std::optional<NodeId>> node_of_;  // by expected node
  std::unordered_map<Guid, const IbSubnetNode*> by_guid_;
  ScanPlace place_;
  std::optional<SwitchWays> ways_;  // of the found fabric
};

}  // namespace weft::exports
