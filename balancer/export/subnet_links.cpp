#include "balancer/export/subnet_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weft::exports {
namespace {

using routing::ForwardingTables;

constexpr unsigned kMaxPorts = 254;  // of a switch (IBTA vol. 1, 14.2.5.6)

NodeId far_end(const Fabric& fabric, PortId nic) {
  const auto channel = fabric.channel_from(nic);
  return channel ? fabric.target_node(*channel) : fabric.port(nic).node;
}

}  // namespace

SubnetLinks::SubnetLinks(const Fabric& expected, discover::SubnetDiscovery discovery, InfinibandFabric found,
                         routing::ForwardingTables tables)
    : expected_(expected),
      discovery_(std::move(discovery)),
      found_(std::move(found)),
      tables_(std::move(tables)),
      match_(discover::match_fabrics(expected, found_.fabric)),
      node_of_(expected.node_count()) {
  const Fabric& fabric = found_.fabric;
  std::vector<bool> kept(fabric.node_count(), false);
  SwitchWays::Links inactive(fabric.link_count(), false);  // no way of packets, though there is a cable
  for (std::uint32_t p = 0; p < fabric.port_count(); ++p)
    if (const auto node = match_.node_of_port[p]) node_of_[node->value()] = fabric.port(PortId(p)).node;
  for (const IbSubnetNode& node : discovery_.subnet.nodes) by_guid_.emplace(node.guid, &node);
  for (const PortId nic : fabric.nics()) {
    const NodeId at = far_end(fabric, nic);
    kept[at.value()] = !fabric.is_host(at);
    const IbPort& about = found_.inventory.ports[nic.value()];
    if (discovery_.sm_lid && about.lids && about.lids->contains(*discovery_.sm_lid)) manager_switch_ = at;
    if (about.node_guid != discovery_.routes.own_node || about.hardware_port != discovery_.routes.own_port)
      continue;
    own_switch_ = at;
    if (about.lids) own_lid_ = about.lids->base;
  }
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
    const NodeId node(n);
    const auto& lids = found_.inventory.nodes[n].lids;
    if (fabric.is_host(node) || !lids) continue;
    if (discovery_.sm_lid && lids->contains(*discovery_.sm_lid)) manager_switch_ = node;
    if (fabric.node(node).guid != discovery_.routes.own_node) continue;
    own_switch_ = node;
    is_own_switch_ = true;
    own_lid_ = lids->base;
  }
  for (const auto& node : {own_switch_, manager_switch_})
    if (node) kept[node->value()] = true;
  // Hosts that are off now will want their leaf.
  for (const PortId nic : expected.nics())
    if (const auto leaf = node_of(far_end(expected, nic)); leaf && !fabric.is_host(*leaf))
      kept[leaf->value()] = true;
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i)
    for (const PortId port : {fabric.link(LinkId(i)).a, fabric.link(LinkId(i)).b})
      if (const auto state = found_.inventory.ports[port.value()].state;
          state && *state != IbPortState::active)
        inactive[i] = true;
  ways_.emplace(fabric, std::move(kept), std::move(inactive));
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

/// Whether the tables lead from a switch to a LID by no link that is out.
bool SubnetLinks::leads(NodeId from, Lid lid, std::optional<NodeId> to, const Links& out) const {
  auto at = tables_.index_of(from);
  for (std::size_t hop = 0; at && hop < routing::kMaxHops; ++hop) {
    const std::uint8_t port = tables_.entry(*at, lid);
    if (port == 0) return to == tables_.switch_at(*at);  // a LID may be held twice
    const auto next =
        port == ForwardingTables::kNone ? ForwardingTables::Behind{} : tables_.behind(*at, port);
    if (next.to == ForwardingTables::kNowhere) return false;
    if (out[Fabric::link_of(ChannelId(next.channel)).value()]) return false;
    if (next.to < ForwardingTables::kNowhere) {
      const auto lids = found_.inventory.ports[static_cast<std::size_t>(-2 - next.to)].lids;
      return !to && lids && lids->contains(lid);
    }
    at = static_cast<std::size_t>(next.to);
  }
  return false;
}

bool SubnetLinks::is_reachable(NodeId node, const Links& out) const {
  const auto& lids = found_.inventory.nodes[node.value()].lids;
  return own_switch_ && own_lid_ && lids && leads(*own_switch_, lids->base, node, out) &&
         leads(node, *own_lid_, is_own_switch_ ? own_switch_ : std::nullopt, out);
}

Result<void> SubnetLinks::check_ways(LinkId link) const {
  const auto who = [&](NodeId node) {
    const char* more = node == manager_switch_ ? " (where the subnet manager is)"
                       : node == own_switch_   ? " (where this host is)"
                                               : "";
    return found_.fabric.name_of(node) + more;
  };
  const auto lost = ways_->lost_without(link);
  if (!lost) return {};
  return fail(ErrorKind::conflict, "it is the last way between {} and {}", who(lost->first),
              who(lost->second));
}

Result<SwitchPort> SubnetLinks::end_to_disable(LinkId link) const {
  if (!manager_switch_)
    return fail(ErrorKind::conflict, "no subnet manager was found, so nothing would lead around it");
  // Of a cable that is not there nobody knows what is at the ports where it should be.
  const auto found = found_link(link);
  if (!found) return fail(ErrorKind::conflict, "it is down: no route leads over it");
  std::vector<End> ends;
  for (const PortId port : {expected_.link(link).a, expected_.link(link).b})
    if (const auto end = end_of(port)) ends.push_back(*end);
  for (const End& end : ends) {
    const Link& its = found_.fabric.link(*found);
    if (!std::ranges::any_of(std::array{its.a, its.b}, [&](PortId port) {
          const IbPort& about = found_.inventory.ports[port.value()];
          return about.node_guid == end.port.node && about.hardware_port == end.port.port;
        }))
      return fail(ErrorKind::conflict,
                  "its cable is not at {}, where the fabric file has it (weft topology check)",
                  end.port.name);
  }
  WEFT_TRY_VOID(check_ways(*found));
  Links without = ways_->out();
  without[found->value()] = true;
  for (const End& end : ends)
    if (is_reachable(end.node, without)) return end.port;
  return fail(ErrorKind::conflict,
              "the forwarding tables lead to neither of its ends without it, so that it could not be enabled "
              "again from here");
}

void SubnetLinks::take_out(LinkId link) {
  if (const auto found = found_link(link)) ways_->take_out(*found);
}

}  // namespace weft::exports
