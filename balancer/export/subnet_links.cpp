#include "balancer/export/subnet_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weft::exports {
namespace {

using routing::ForwardingTables;
using Links = SwitchWays::Links;  // of the found fabric

constexpr unsigned kMaxPorts = 254;  // of a switch (IBTA vol. 1, 14.2.5.6)

NodeId far_end(const Fabric& fabric, PortId nic) {
  const auto channel = fabric.channel_from(nic);
  return channel ? fabric.target_node(*channel) : fabric.port(nic).node;
}

ScanPlace place_of(const discover::SubnetDiscovery& discovery, const InfinibandFabric& found) {
  const Fabric& fabric = found.fabric;
  const auto& sm_lid = discovery.sm_lid;
  ScanPlace place;
  for (const PortId nic : fabric.nics()) {
    const NodeId at = far_end(fabric, nic);
    const IbPort& about = found.inventory.ports[nic.value()];
    if (sm_lid && about.lids && about.lids->contains(*sm_lid)) place.manager_switch = at;
    if (about.node_guid != discovery.routes.own_node || about.hardware_port != discovery.routes.own_port)
      continue;
    place.own_switch = at;
    if (about.lids) place.own_lid = about.lids->base;
  }
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
    const NodeId node(n);
    const auto& lids = found.inventory.nodes[n].lids;
    if (fabric.is_host(node) || !lids) continue;
    if (sm_lid && lids->contains(*sm_lid)) place.manager_switch = node;
    if (fabric.node(node).guid != discovery.routes.own_node) continue;
    place.own_switch = node;
    place.is_own_switch = true;
    place.own_lid = lids->base;
  }
  return place;
}

/// No way of packets, though there is a cable.
Links inactive_links(const InfinibandFabric& found) {
  Links inactive(found.fabric.link_count(), false);
  for (std::uint32_t i = 0; i < found.fabric.link_count(); ++i)
    for (const PortId port : {found.fabric.link(LinkId(i)).a, found.fabric.link(LinkId(i)).b})
      if (const auto state = found.inventory.ports[port.value()].state;
          state && *state != IbPortState::active)
        inactive[i] = true;
  return inactive;
}

/// Whether the tables lead from a switch to a LID by no link that is out. `to`: the switch where it is to
/// end; absent: at a host.
bool leads(const ForwardingTables& tables, const InfinibandFabric& found, NodeId from, Lid lid,
           std::optional<NodeId> to, const Links& out) {
  auto at = tables.index_of(from);
  for (std::size_t hop = 0; at && hop < routing::kMaxHops; ++hop) {
    const std::uint8_t port = tables.entry(*at, lid);
    if (port == 0) return to == tables.switch_at(*at);  // a LID may be held twice
    const auto next = port == ForwardingTables::kNone ? ForwardingTables::Behind{} : tables.behind(*at, port);
    if (next.to == ForwardingTables::kNowhere) return false;
    if (out[Fabric::link_of(ChannelId(next.channel)).value()]) return false;
    if (next.to < ForwardingTables::kNowhere) {
      const auto lids = found.inventory.ports[static_cast<std::size_t>(-2 - next.to)].lids;
      return !to && lids && lids->contains(lid);
    }
    at = static_cast<std::size_t>(next.to);
  }
  return false;
}

/// From our own port and back.
bool is_reachable(const ForwardingTables& tables, const InfinibandFabric& found, const ScanPlace& place,
                  NodeId node, const Links& out) {
  const auto& lids = found.inventory.nodes[node.value()].lids;
  if (!place.own_switch || !place.own_lid || !lids) return false;
  const auto home = place.is_own_switch ? place.own_switch : std::nullopt;
  return leads(tables, found, *place.own_switch, lids->base, node, out) &&
         leads(tables, found, node, *place.own_lid, home, out);
}

Result<void> check_ways(const SwitchWays& ways, const Fabric& found, const ScanPlace& place, LinkId link) {
  const auto who = [&](NodeId node) {
    const char* more = node == place.manager_switch ? " (where the subnet manager is)"
                       : node == place.own_switch   ? " (where this host is)"
                                                    : "";
    return found.name_of(node) + more;
  };
  const auto lost = ways.lost_without(link);
  if (!lost) return {};
  return fail(ErrorKind::conflict, "it is the last way between {} and {}", who(lost->first),
              who(lost->second));
}

}  // namespace

SubnetLinks::SubnetLinks(const Fabric& expected, discover::SubnetDiscovery discovery, InfinibandFabric found,
                         routing::ForwardingTables tables)
    : expected_(expected),
      discovery_(std::move(discovery)),
      found_(std::move(found)),
      tables_(std::move(tables)),
      match_(discover::match_fabrics(expected, found_.fabric)),
      node_of_(expected.node_count()),
      place_(place_of(discovery_, found_)) {
  const Fabric& fabric = found_.fabric;
  for (std::uint32_t p = 0; p < fabric.port_count(); ++p)
    if (const auto node = match_.node_of_port[p]) node_of_[node->value()] = fabric.port(PortId(p)).node;
  for (const IbSubnetNode& node : discovery_.subnet.nodes) by_guid_.emplace(node.guid, &node);
  std::vector<bool> kept(fabric.node_count(), false);
  for (const PortId nic : fabric.nics())
    if (const NodeId at = far_end(fabric, nic); !fabric.is_host(at)) kept[at.value()] = true;
  for (const auto& node : {place_.own_switch, place_.manager_switch})
    if (node) kept[node->value()] = true;
  // Hosts that are off now will want their leaf.
  for (const PortId nic : expected.nics())
    if (const auto leaf = node_of(far_end(expected, nic)); leaf && !fabric.is_host(*leaf))
      kept[leaf->value()] = true;
  ways_.emplace(fabric, std::move(kept), inactive_links(found_));
}

std::optional<NodeId> SubnetLinks::node_of(NodeId expected) const {
  if (node_of_[expected.value()]) return node_of_[expected.value()];
  // Without a cable that is up it is no end of a link: known by what it is, or by its name.
  const Node& wanted = expected_.node(expected);
  for (std::uint32_t n = 0; n < found_.fabric.node_count(); ++n) {
    const Node& node = found_.fabric.node(NodeId(n));
    if (node.kind == wanted.kind && (wanted.guid ? node.guid == wanted.guid : node.name == wanted.name))
      return NodeId(n);
  }
  return std::nullopt;
}

std::optional<SubnetLinks::End> SubnetLinks::end_of(PortId expected) const {
  const Port& port = expected_.port(expected);
  const auto node = node_of(port.node);
  if (!node || !found_.fabric.node(*node).guid || port.number.value() > kMaxPorts) return std::nullopt;
  const auto& lids = found_.inventory.nodes[node->value()].lids;
  return End{{*found_.fabric.node(*node).guid, lids ? lids->base : Lid(),
              static_cast<std::uint8_t>(port.number.value()), expected_.name_of(expected)},
             *node};
}

std::optional<LinkId> SubnetLinks::found_link(LinkId expected) const {
  const auto channel = match_.found[Fabric::a_to_b(expected).value()];
  return channel ? std::optional(Fabric::link_of(*channel)) : std::nullopt;
}

SubnetLinks::Seen SubnetLinks::seen(LinkId link) const {
  // At the ports of the file first: what is disabled there stays so when somebody moves its cable.
  Seen seen{State::down, "down", {}};
  for (const PortId port : {expected_.link(link).a, expected_.link(link).b}) {
    const auto end = end_of(port);
    if (!end) {
      seen.state = State::unknown;
      seen.text = fmt::format("{} is not in the subnet", expected_.name_of(expected_.port(port).node));
      continue;
    }
    if (discovery_.unread.contains({end->port.node, end->port.port})) {
      seen.state = State::unknown;
      seen.text = fmt::format("{} does not tell how it is", end->port.name);
    }
    const auto node = by_guid_.find(end->port.node);
    if (node == by_guid_.end()) continue;
    const auto about = node->second->ports.find(end->port.port);
    if (about != node->second->ports.end() && about->second.disabled) seen.disabled.push_back(end->port);
  }
  if (seen.disabled.empty()) return found_link(link) ? Seen{State::up, "up", {}} : seen;
  seen.state = State::disabled;
  seen.text = "disabled at " + seen.disabled.front().name;
  if (seen.disabled.size() > 1) seen.text += " and at " + seen.disabled.back().name;
  return seen;
}

/// Whether an end of that cable is there.
bool SubnetLinks::is_at(const SwitchPort& end, LinkId found) const {
  const Link& its = found_.fabric.link(found);
  return std::ranges::any_of(std::array{its.a, its.b}, [&](PortId port) {
    const IbPort& about = found_.inventory.ports[port.value()];
    return about.node_guid == end.node && about.hardware_port == end.port;
  });
}

Result<SwitchPort> SubnetLinks::end_to_disable(LinkId link) const {
  if (!place_.manager_switch)
    return fail(ErrorKind::conflict, "no subnet manager was found, so nothing would lead around it");
  // Of a cable that is not there nobody knows what is at the ports where it should be.
  const auto found = found_link(link);
  if (!found) return fail(ErrorKind::conflict, "it is down: no route leads over it");
  std::vector<End> ends;
  for (const PortId port : {expected_.link(link).a, expected_.link(link).b})
    if (const auto end = end_of(port)) ends.push_back(*end);
  for (const End& end : ends)
    if (!is_at(end.port, *found))
      return fail(ErrorKind::conflict,
                  "its cable is not at {}, where the fabric file has it (weft topology check)",
                  end.port.name);
  WEFT_TRY_VOID(check_ways(*ways_, found_.fabric, place_, *found));
  Links without = ways_->out();
  without[found->value()] = true;
  for (const End& end : ends)
    if (is_reachable(tables_, found_, place_, end.node, without)) return end.port;
  return fail(ErrorKind::conflict,
              "the forwarding tables lead to neither of its ends without it, so that it could not be enabled "
              "again from here");
}

void SubnetLinks::take_out(LinkId link) {
  if (const auto found = found_link(link)) ways_->take_out(*found);
}

}  // namespace weft::exports
