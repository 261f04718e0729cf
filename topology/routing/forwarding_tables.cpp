#include "topology/routing/forwarding_tables.hpp"

#include <algorithm>

#include "topology/base/check.hpp"
#include "topology/model/fabric.hpp"

namespace weft::routing {
namespace {

constexpr std::int32_t kNobody = -1;
constexpr std::int32_t kSwitchLid = -2;

}  // namespace

std::string_view to_string(RouteEnd end) {
  switch (end) {
    case RouteEnd::arrived:
      return "arrived";
    case RouteEnd::no_such_lid:
      return "no such LID";
    case RouteEnd::no_entry:
      return "no entry";
    case RouteEnd::dead_port:
      return "dead port";
    case RouteEnd::loop:
      return "loop";
    case RouteEnd::strayed:
      return "strayed";
  }
  return "";
}

ForwardingTables::ForwardingTables(const InfinibandFabric& whole) {
  const Fabric& fabric = whole.fabric;
  index_of_.assign(fabric.node_count(), -1);
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
    if (fabric.is_host(NodeId(n))) continue;
    index_of_[n] = static_cast<std::int32_t>(switches_.size());
    switches_.push_back(NodeId(n));
  }
  adaptive_.resize(switches_.size(), AdaptiveRouting::unknown);
  const auto number_of = [&fabric](PortId port) { return std::size_t{fabric.port(port).number.value()}; };
  for (std::uint32_t p = 0; p < fabric.port_count(); ++p)
    if (!fabric.is_host(fabric.port(PortId(p)).node) && number_of(PortId(p)) < kMaxPorts)
      ports_ = std::max(ports_, number_of(PortId(p)) + 1);
  behind_.resize(switches_.size() * ports_);
  from_nic_.resize(fabric.port_count());
  holder_.assign(kLids, kNobody);
  lids_of_.resize(fabric.port_count());
  const auto hold = [this](const LidRange& lids, std::int32_t who) {
    for (std::uint32_t lid = lids.base.value(); lid < lids.end() && lid < kLids; ++lid) holder_[lid] = who;
    lids_ = std::max<std::size_t>(lids_, std::min<std::size_t>(lids.end(), kLids));
  };
  for (std::uint32_t p = 0; p < fabric.port_count(); ++p) {
    const PortId port(p);
    const NodeId node = fabric.port(port).node;
    const auto out = fabric.channel_from(port);
    if (!out) continue;
    const PortId far = fabric.target(*out);
    const auto far_switch = index_of_[fabric.port(far).node.value()];
    const Behind next{out->value(), far_switch >= 0 ? far_switch : host_end(far)};
    if (fabric.is_host(node)) {
      from_nic_[p] = next;
      lids_of_[p] = whole.inventory.ports[p].lids;
      if (lids_of_[p]) hold(*lids_of_[p], static_cast<std::int32_t>(p));
    } else if (number_of(port) < ports_) {
      behind_[static_cast<std::size_t>(index_of_[node.value()]) * ports_ + number_of(port)] = next;
    }
  }
  for (const NodeId node : switches_)
    if (const auto& lids = whole.inventory.nodes[node.value()].lids) hold(*lids, kSwitchLid);
  table_.assign(switches_.size() * lids_, kNone);
}

std::optional<std::size_t> ForwardingTables::index_of(NodeId node) const {
  const auto index = index_of_[node.value()];
  return index < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(index));
}

void ForwardingTables::set(NodeId node, std::uint32_t first, std::span<const std::uint8_t> ports) {
  const auto index = index_of(node);
  WEFT_CHECK(index.has_value());
  if (first >= lids_) return;  // LIDs that nobody holds
  const auto count = std::min(ports.size(), lids_ - first);
  for (std::size_t i = 0; i < count; ++i) table_[(first + i) * switches_.size() + *index] = ports[i];
}

void ForwardingTables::set_adaptive(NodeId node, AdaptiveRouting adaptive) {
  const auto index = index_of(node);
  WEFT_CHECK(index.has_value());
  adaptive_[*index] = adaptive;
}

std::optional<std::uint8_t> ForwardingTables::port(NodeId node, Lid lid) const {
  const auto index = index_of(node);
  if (!index || entry(*index, lid) == kNone) return std::nullopt;
  return entry(*index, lid);
}

std::optional<PortId> ForwardingTables::nic_of(Lid lid) const {
  if (lid.value() >= kLids || holder_[lid.value()] < 0) return std::nullopt;
  return PortId(static_cast<std::uint32_t>(holder_[lid.value()]));
}

LidRoute ForwardingTables::walk(PortId source, Lid lid) const {
  LidRoute route;
  if (lid.value() >= kLids || holder_[lid.value()] == kNobody) {
    route.end = RouteEnd::no_such_lid;
    return route;
  }
  const std::int32_t goal = holder_[lid.value()];
  if (goal == static_cast<std::int32_t>(source.value())) {
    route.end = RouteEnd::arrived;
    return route;
  }
  Behind next = from_nic_[source.value()];
  while (route.hops < kMaxHops) {
    if (next.to == kNowhere) {
      route.end = RouteEnd::dead_port;
      return route;
    }
    route.channels[route.hops++] = ChannelId(next.channel);
    if (next.to < kNowhere) {
      route.end = next.to == -2 - goal ? RouteEnd::arrived : RouteEnd::strayed;
      return route;
    }
    const auto at = static_cast<std::size_t>(next.to);
    const std::uint8_t out = entry(at, lid);
    if (out == kNone || out == 0) {
      // Port 0 is the switch itself: the end for its own LID.
      route.end = out == 0 && goal == kSwitchLid ? RouteEnd::arrived : RouteEnd::no_entry;
      return route;
    }
    next = behind(at, out);
  }
  route.end = RouteEnd::loop;
  return route;
}

}  // namespace weft::routing
