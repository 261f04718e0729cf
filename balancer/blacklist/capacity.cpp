#include "balancer/blacklist/capacity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "topology/base/check.hpp"
#include "topology/base/readable.hpp"

namespace weft::blacklist {
namespace {

/// 25 % of 4 is 1, whatever a double makes of it.
std::size_t share_of(double share, std::size_t all) {
  return static_cast<std::size_t>(std::floor(share * static_cast<double>(all) + 1e-9));
}

}  // namespace

std::size_t allowed_of(double share, std::size_t least, std::size_t all) {
  return std::max(least, share_of(share, all));
}

std::size_t hosts_allowed(const Caps& caps, std::size_t hosts) {
  const std::size_t some = std::max<std::size_t>(caps.few_hosts, share_of(caps.hosts, hosts));
  return std::min(some, std::max<std::size_t>(1, share_of(caps.most_hosts, hosts)));
}

std::size_t Capacity::Group::allowed() const { return allowed_of(share, least, all.count); }

std::optional<std::string> Capacity::Group::broken_by(const Amount& more) const {
  const std::size_t count = out.count + more.count;
  if (count > allowed())
    return fmt::format("{}: {} of {} would be out of use, {} may be", name, count, all.count, allowed());
  // Sums of doubles: a little more is none.
  if (count <= least || out.rate + more.rate <= all.rate * (share * (1 + 1e-9))) return std::nullopt;
  return fmt::format("{}: {} of {} would be out of use, {} may be", name, readable(out.rate + more.rate),
                     readable(all.rate), readable(all.rate * share));
}

Capacity::Capacity(const Fabric& fabric, const Caps& caps)
    : links_(fabric.link_count()), nics_(fabric.port_count()), hosts_(fabric.node_count()) {
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
    const Link& link = fabric.link(LinkId(i));
    if (!fabric.between_switches(LinkId(i))) continue;
    links_.rates[i] = link.rate;
    join(links_, i, Kind::links, 0, [&] { return Group{"links of the fabric", caps.fabric_links, 1}; });
    for (const PortId end : {link.a, link.b}) {
      const NodeId id = fabric.port(end).node;
      const Node& node = fabric.node(id);
      if (node.tier == Tier::leaf)
        join(links_, i, Kind::uplinks, id.value(), [&] {
          return Group{"uplinks of " + node.name, caps.leaf_uplinks};
        });
      if (node.pod)
        join(links_, i, Kind::pod, *node.pod, [&] {
          return Group{fmt::format("links of pod {}", *node.pod), caps.pod_links, 1};
        });
    }
  }
  for (const PortId nic : fabric.nics()) {
    const auto rail = fabric.port(nic).number.value();
    nics_.rates[nic.value()] = fabric.link(*fabric.port(nic).link).rate;
    join(nics_, nic.value(), Kind::rail, rail, [&] {
      return Group{fmt::format("NICs of rail {}", rail), caps.rail_nics, 1};
    });
  }
  for (const NodeId host : fabric.hosts())
    join(hosts_, host.value(), Kind::hosts, 0, [&] {
      return Group{"hosts", 0, hosts_allowed(caps, fabric.hosts().size())};
    });
}

template <class Make>
void Capacity::join(Things& things, std::uint32_t thing, Kind kind, std::uint32_t number, Make make) {
  const auto key = (static_cast<std::uint64_t>(kind) << 32) | number;
  const auto [at, is_new] = by_number_.try_emplace(key, static_cast<std::uint32_t>(groups_.size()));
  if (is_new) groups_.push_back(make());
  InGroups& in = things.groups[thing];
  if (std::ranges::find(in.all(), at->second) != in.all().end()) return;  // both ends in one pod
  WEFT_CHECK(in.count < in.which.size());
  in.which[in.count++] = at->second;
  groups_[at->second].all.add(things.rates[thing]);
}

void Capacity::take_out(const Effect& effect) {
  const auto take = [&](Things& things, const auto& ids) {
    for (const auto id : ids) {
      if (things.out[id.value()]) continue;
      things.out[id.value()] = true;
      for (const std::uint32_t group : things.groups[id.value()].all())
        groups_[group].out.add(things.rates[id.value()]);
    }
  };
  take(links_, effect.links), take(nics_, effect.nics), take(hosts_, effect.hosts);
}

std::size_t Capacity::hosts_in_use(const Effect& effect) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(effect.hosts, [&](NodeId host) { return !hosts_.out[host.value()]; }));
}

std::optional<std::string> Capacity::broken_by(const Effect& effect) const {
  std::map<std::uint32_t, Amount> more;  // by group: what would be out besides
  const auto count = [&](const Things& things, const auto& ids) {
    for (const auto id : ids)
      for (const std::uint32_t group : things.groups[id.value()].all())
        if (Amount& its = more[group]; !things.out[id.value()]) its.add(things.rates[id.value()]);
  };
  count(links_, effect.links), count(nics_, effect.nics), count(hosts_, effect.hosts);
  for (const auto& [number, its] : more)
    if (auto broken = groups_[number].broken_by(its)) return broken;
  return std::nullopt;
}

}  // namespace weft::blacklist
