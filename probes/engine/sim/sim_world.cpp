#include "probes/engine/sim/sim_world.hpp"

namespace weft {
namespace {

// What small packets cost in a data centre: a cut-through switch and its cable, and a host's stack and NIC.
constexpr Nanoseconds kHop(600);
constexpr Nanoseconds kHost(2'000);
constexpr Nanoseconds kJitterPerHop(150);

}  // namespace

SimWorld::SimWorld(const Fabric& fabric, const AddressBook& addresses, const SimOptions& options)
    : fabric_(&fabric),
      addresses_(&addresses),
      options_(options),
      channels_(fabric, options),
      routing_(fabric,
               {.seed = options.seed, .dead = dead_links(options), .convergence = options.convergence}),
      silent_(fabric.node_count(), false),
      dead_(fabric.link_count(), false) {
  for (const NodeId node : options.silent) silent_[node.value()] = true;
  for (const LinkId link : dead_links(options)) dead_[link.value()] = true;
}

bool SimWorld::path_of(PortId src, PortId dst, PathLabel label, std::vector<ChannelId>& path) const {
  if (!options_.tables) return routing_.path_of(src, dst, label, path);
  path.clear();
  if (label.value() >= ForwardingTables::kLids) return false;
  const Lid lid(static_cast<std::uint16_t>(label.value()));
  const LidRoute route = options_.tables->walk(src, lid);
  path.assign(route.path().begin(), route.path().end());
  return route.end == RouteEnd::arrived && options_.tables->nic_of(lid) == dst;
}

std::optional<PortId> SimWorld::nic_at(const IpAddress& address) const {
  const auto port = addresses_->port_of(address);
  return port && fabric_->is_host(fabric_->port(*port).node) ? port : std::nullopt;
}

std::optional<IpAddress> SimWorld::answering_address(ChannelId into) const {
  return silent_[fabric_->target_node(into).value()] ? std::nullopt
                                                     : addresses_->address_of(fabric_->target(into));
}

bool SimWorld::can_send(PortId nic) const {
  const auto& link = fabric_->port(nic).link;
  return link && !dead_[link->value()];
}

Nanoseconds SimWorld::latency(std::span<const ChannelId> path, Bytes size) const {
  Nanoseconds sum = kHost;
  for (const ChannelId channel : path)
    sum += kHop + channels_[channel].capacity.time_for(size) + channels_[channel].delay;
  return sum;
}

Nanoseconds SimWorld::jitter(std::size_t channels) { return kJitterPerHop * static_cast<int>(channels); }

}  // namespace weft
