// A simulated fabric that is discovered by traces: what a DiscoverScript sees of it when its coordinator and
// agents are in this process.
#pragma once

#include <map>
#include <set>
#include <string>

#include "probes/discover/host_nics.hpp"
#include "probes/engine/sim/sim_fabric.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "probes/session/discover_script.hpp"
#include "topology/base/check.hpp"
#include "topology/model/addressing.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft {

/// The hosts of a fabric with their NICs' addresses, as hosts themselves would tell them.
inline std::vector<discover::HostNics> nics_of_hosts(const Fabric& fabric, const AddressBook& addresses) {
  std::vector<discover::HostNics> hosts;
  for (const NodeId host : fabric.hosts()) {
    discover::HostNics& one = hosts.emplace_back(discover::HostNics{fabric.name_of(host), {}});
    for (const PortId port : fabric.ports_of(host))
      one.nics.push_back(
          {"p" + std::to_string(fabric.port(port).number.value()), *addresses.address_of(port), {}});
  }
  return hosts;
}

struct SimulatedDiscovery {
  std::vector<discover::HostNics> hosts;
  files::FabricFile stand_in;
  session::DiscoverScript script;

  SimulatedDiscovery(const Fabric& fabric, const AddressBook& addresses, const sim::SimOptions& options = {},
                     double answers_per_second = 100'000)
      : hosts(nics_of_hosts(fabric, addresses)),
        stand_in(discover::fabric_of_hosts(hosts).value()),
        script(stand_in.fabric, stand_in.addresses, {.answers_per_second = answers_per_second}, RunId(1)) {
    const auto world = sim::SimFabric::make(fabric, addresses, options);
    std::vector<session::ExpectedHost> expected;
    std::vector<std::string> names;
    for (const NodeId host : stand_in.fabric.hosts()) {
      session::ExpectedHost& one = expected.emplace_back(session::ExpectedHost{host, {}});
      for (const PortId nic : stand_in.fabric.ports_of(host))
        one.nics.push_back({to_string(*stand_in.addresses.address_of(nic)), nic});
      names.push_back(stand_in.fabric.name_of(host));
    }
    session::Coordinator coordinator(stand_in.fabric, script, {RunId(1), {}}, expected);
    const auto open = [&](const session::NicAssignment& nic, const packet::RunSecrets&,
                          const datapath::SharedNics&) -> Result<session::NicEngines> {
      const auto engine = world->engine(*addresses.port_of(IpAddress::parse(nic.interface).value()));
      return session::NicEngines{engine, engine};
    };
    const auto done = session::coordinate_in_process(coordinator, names, open, [](const auto&) {}, {});
    WEFT_CHECK(done.has_value());
  }
};

/// The same nodes and ports with what is cabled to the second port of each link changed over: two ends
/// plugged into each other's place.
inline Fabric with_swapped(const Fabric& design, LinkId one, LinkId other) {
  FabricBuilder builder(design.name(), design.kind());
  for (const Node& node : design.nodes()) WEFT_CHECK(builder.add_node(node).has_value());
  for (const Port& port : design.ports()) WEFT_CHECK(builder.add_port(port.node, port.number).has_value());
  for (std::uint32_t l = 0; l < design.link_count(); ++l) {
    const LinkId far = LinkId(l) == one ? other : LinkId(l) == other ? one : LinkId(l);
    WEFT_CHECK(
        builder.add_link(design.link(LinkId(l)).a, design.link(far).b, design.link(far).rate).has_value());
  }
  return std::move(builder).build();
}

/// A discovery held against the fabric that was discovered.
struct CableScore {
  std::size_t cables = 0;  // of the fabric
  std::size_t claimed = 0;
  std::size_t right = 0;  // claimed, between the nodes that they are between
  std::size_t found = 0;  // cables of the fabric that are claimed
};

/// Of `switches`, each is the node whose addresses it has; one that has none is the leaf of its NICs.
inline CableScore score(const Fabric& fabric, const AddressBook& addresses,
                        const discover::TracedCabling& found) {
  CableScore score{.cables = fabric.link_count()};
  const auto nics = fabric.nics();
  std::vector<std::set<NodeId>> node_of(found.switches.size());
  for (std::size_t s = 0; s < found.switches.size(); ++s)
    for (const IpAddress& address : found.switches[s].addresses) {
      if (const auto port = addresses.port_of(address)) node_of[s].insert(fabric.port(*port).node);
      if (const auto node = addresses.node_of(address)) node_of[s].insert(*node);
    }
  for (const auto& cable : found.cables)
    if (cable.a.is_nic && found.switches[cable.b.index].addresses.empty())
      node_of[cable.b.index].insert(fabric.target_node(*fabric.channel_from(nics[cable.a.index])));
  std::map<NodeId, std::size_t> claimants;  // a node that is claimed as two switches is claimed wrongly
  for (const auto& nodes : node_of)
    for (const NodeId node : nodes) ++claimants[node];
  const auto node_at = [&](const discover::TracedEnd& end) -> std::optional<NodeId> {
    if (end.is_nic) return fabric.port(nics[end.index]).node;
    const auto& nodes = node_of[end.index];
    return nodes.size() == 1 && claimants[*nodes.begin()] == 1 ? std::optional(*nodes.begin()) : std::nullopt;
  };
  std::set<LinkId> left;
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l) left.insert(LinkId(l));
  for (const auto& cable : found.cables) {
    ++score.claimed;
    const auto a = node_at(cable.a), b = node_at(cable.b);
    // A switch's one address looks like a port's where all that was seen came in by one cable.
    const auto fits_port = [&](const discover::TracedEnd& end, PortId port) {
      return !end.port || addresses.port_of(*end.port) == port ||
             addresses.node_of(*end.port) == fabric.port(port).node;
    };
    const auto fits = [&](LinkId id, const discover::TracedEnd& one, NodeId at_one,
                          const discover::TracedEnd& far, NodeId at_far) {
      const Link& link = fabric.link(id);
      return fabric.port(link.a).node == at_one && fabric.port(link.b).node == at_far &&
             fits_port(one, link.a) && fits_port(far, link.b) && (!one.is_nic || nics[one.index] == link.a);
    };
    for (const LinkId id : left)
      if (a && b && (fits(id, cable.a, *a, cable.b, *b) || fits(id, cable.b, *b, cable.a, *a))) {
        ++score.right;
        left.erase(id);
        break;
      }
  }
  score.found = score.cables - left.size();
  return score;
}

}  // namespace weft
