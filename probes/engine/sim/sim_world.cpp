#include "probes/engine/sim/sim_world.hpp"

#include <algorithm>

#include "topology/model/fabric.hpp"

namespace weft::sim {
namespace {

// What small packets cost in a data centre: a cut-through switch and its cable, and a host's stack and NIC.
constexpr Nanoseconds kHop(600);
constexpr Nanoseconds kHost(2'000);
constexpr Nanoseconds kJitterPerHop(150);
/// What a host's sockets hold of flows while nobody reads them, as a time: shorter stalls lose nothing.
constexpr Nanoseconds kQueued = std::chrono::milliseconds(20);
// Of probes they hold as many as the socket of a raw responder: 5,000 small ones (packet_socket.cpp).
constexpr double kSocket = 8 << 20;      // bytes
constexpr double kFrameInKernel = 1536;  // bytes, beside the packet's own

Nanoseconds hop_latency(const ChannelState& channel, Bytes size) {
  return kHop + channel.capacity.time_for(size) + channel.delay + channel.wait;
}

routing::RoutingOptions routing_options(const SimOptions& options, const AddressBook& addresses,
                                        std::uint64_t seed) {
  const bool by_ports = options.hash.family == routing::HashFamily::structureless;
  return {.seed = seed,
          .dead = dead_links(options),
          .convergence = options.convergence,
          .hash = options.hash,
          .structureless = options.structureless,
          .addresses = by_ports ? nullptr : &addresses,
          .spraying = options.spraying};
}

}  // namespace

SimWorld::SimWorld(const Fabric& fabric, const AddressBook& addresses, const SimOptions& options)
    : fabric_(&fabric),
      addresses_(&addresses),
      options_(options),
      channels_(fabric, options),
      routing_(fabric, routing_options(options, addresses, options.seed)),
      silent_(fabric.node_count(), false),
      anonymous_(fabric.node_count(), false),
      dead_(fabric.link_count(), false) {
  if (options.routes_change)
    later_.emplace(fabric, routing_options(options, addresses, mix_bits(options.seed)));
  for (const NodeId node : options.silent) silent_[node.value()] = true;
  for (const NodeId node : options.anonymous) anonymous_[node.value()] = true;
  for (const LinkId link : dead_links(options)) dead_[link.value()] = true;
}

bool SimWorld::path_of(PortId src, PortId dst, PathLabel label, std::vector<ChannelId>& path,
                       const SentPacket& sent) const {
  if (!options_.tables) return routing(sent.at).path_of(src, dst, label, path, sent.packet);
  path.clear();
  if (label.value() >= routing::ForwardingTables::kLids) return false;
  const Lid lid(static_cast<std::uint16_t>(label.value()));
  const routing::LidRoute route = options_.tables->walk(src, lid);
  path.assign(route.path().begin(), route.path().end());
  return route.end == routing::RouteEnd::arrived && options_.tables->nic_of(lid) == dst;
}

std::optional<PortId> SimWorld::nic_at(const IpAddress& address) const {
  const auto port = addresses_->port_of(address);
  return port && fabric_->is_host(fabric_->port(*port).node) ? port : std::nullopt;
}

std::optional<IpAddress> SimWorld::answering_address(ChannelId into) const {
  const NodeId node = fabric_->target_node(into);
  if (silent_[node.value()]) return std::nullopt;
  const auto of_port = addresses_->address_of(fabric_->target(into));
  if (anonymous_[node.value()]) return of_port && of_port->is_v6() ? kAnonymous6 : kAnonymous;
  return of_port ? of_port : addresses_->address_of(node);
}

bool SimWorld::can_send(PortId nic) const {
  const auto& link = fabric_->port(nic).link;
  return link && !dead_[link->value()];
}

Nanoseconds SimWorld::latency(std::span<const ChannelId> path, Bytes size) const {
  Nanoseconds sum = kHost;
  for (const ChannelId channel : path) sum += hop_latency(channels_[channel], size);
  return sum;
}

Nanoseconds SimWorld::latency(std::span<const ChannelState> path, Bytes size) {
  Nanoseconds sum = kHost;
  for (const ChannelState& channel : path) sum += hop_latency(channel, size);
  return sum;
}

bool SimWorld::stalls(PortId nic) const {
  const NodeId host = fabric_->port(nic).node;
  return std::ranges::any_of(options_.stalls, [&](const HostStall& stall) { return stall.host == host; });
}

const HostStall* SimWorld::stall_at(PortId nic, Nanoseconds at) const {
  const NodeId host = fabric_->port(nic).node;
  const auto found = std::ranges::find_if(options_.stalls, [&](const HostStall& stall) {
    return stall.host == host && at >= stall.start && at < stall.start + stall.length;
  });
  return found == options_.stalls.end() ? nullptr : &*found;
}

Nanoseconds SimWorld::stall_change_after(PortId nic, Nanoseconds at, Nanoseconds holds,
                                         Nanoseconds until) const {
  const NodeId host = fabric_->port(nic).node;
  for (const HostStall& stall : options_.stalls)
    for (const Nanoseconds change : {stall.start, stall.start + holds, stall.start + stall.length})
      if (stall.host == host && change > at) until = std::min(until, change);
  return until;
}

Nanoseconds SimWorld::holds(Bytes size, double packets_per_second) {
  const double packets = kSocket / (kFrameInKernel + static_cast<double>(size.count()));
  return Nanoseconds(static_cast<std::int64_t>(packets / packets_per_second * 1e9));
}

SimWorld::Idle SimWorld::idle(PortId nic, Nanoseconds start, Nanoseconds length) const {
  const NodeId host = fabric_->port(nic).node;
  Idle idle;
  for (const HostStall& stall : options_.stalls) {
    if (stall.host != host) continue;
    const auto common = [&](Nanoseconds from) {
      const auto end = std::min(stall.start + stall.length, start + length);
      return std::max(Nanoseconds(0), end - std::max(from, start));
    };
    idle.sending += common(stall.start);
    idle.receiving += common(stall.start + kQueued);
  }
  return {std::min(idle.sending, length), std::min(idle.receiving, length)};
}

Nanoseconds SimWorld::jitter(std::size_t channels) { return kJitterPerHop * static_cast<int>(channels); }

}  // namespace weft::sim
