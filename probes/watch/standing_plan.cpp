#include "probes/watch/standing_plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "probes/plan/ping_plan.hpp"
#include "topology/model/fabric.hpp"

namespace weft::watch {
namespace {

using plan::PlannedPing;

/// The channels that every path of the set crosses.
template <class Visit>
void for_each_certain(const PathTable& table, PathSetId set, Visit visit) {
  const auto paths = table.paths(set);
  for (const ChannelId channel : table.channels(paths.front())) {
    const auto has = [&](PathId path) {
      return std::ranges::find(table.channels(path), channel) != table.channels(path).end();
    };
    if (paths.size() == 1 || std::ranges::all_of(paths, has)) visit(channel);
  }
}

template <class Visit>
void for_each_certain(const PathTable& table, const PlannedPing& ping, Visit visit) {
  for_each_certain(table, ping.path, visit);
  for_each_certain(table, *ping.back, visit);
}

/// Of the pings of one NIC the most useful, at most `most`: each next one is that whose least crossed channel
/// is crossed the least so far. In rounds, each of which takes an eighth: what one takes changes little for
/// the others.
std::vector<PlannedPing> choose(const PathTable& table, std::vector<PlannedPing> pings, std::size_t most,
                                std::vector<std::uint32_t>& crossed) {
  constexpr std::size_t kRounds = 8;
  std::vector<PlannedPing> chosen;
  const auto take = [&](const PlannedPing& ping) {
    for_each_certain(table, ping, [&](ChannelId channel) { ++crossed[channel.value()]; });
    chosen.push_back(ping);
  };
  if (pings.size() <= most) {
    std::ranges::for_each(pings, take);
    return chosen;
  }
  while (chosen.size() < most) {
    const auto least = [&](const PlannedPing& ping) {
      std::uint32_t fewest = ~0u;
      for_each_certain(table, ping,
                       [&](ChannelId channel) { fewest = std::min(fewest, crossed[channel.value()]); });
      return fewest;
    };
    std::vector<std::pair<std::uint32_t, std::size_t>> order;
    for (std::size_t i = 0; i < pings.size(); ++i) order.emplace_back(least(pings[i]), i);
    std::ranges::sort(order);
    order.resize(std::min({order.size(), most / kRounds + 1, most - chosen.size()}));
    std::vector<std::size_t> taken;
    for (const auto& [fewest, i] : order) take(pings[i]), taken.push_back(i);
    std::ranges::sort(taken, std::greater());
    for (const std::size_t i : taken) pings.erase(pings.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return chosen;
}

/// Dealt out by the way they take up from their switch, then by peer: neighbours differ.
std::vector<PlannedPing> spread(const PathTable& table, const std::vector<PlannedPing>& pings) {
  std::map<std::uint32_t, std::vector<PlannedPing>> by_way;
  for (const PlannedPing& ping : pings) {
    const auto path = table.channels(table.paths(ping.path).front());
    by_way[path.size() > 1 ? path[1].value() : ~0u].push_back(ping);
  }
  std::vector<PlannedPing> out;
  for (std::size_t turn = 0; out.size() < pings.size(); ++turn)
    for (const auto& [way, its] : by_way)
      if (turn < its.size()) out.push_back(its[turn]);
  return out;
}

/// The rates and rows of the NICs of each host, and what they cross.
void finish(const Fabric& fabric, const PlanLimits& limits, StandingPlan& plan) {
  std::map<NodeId, std::size_t> busy;  // NICs with streams, by host
  for (const StandingNic& nic : plan.nics) busy[nic.host] += nic.streams.empty() ? 0 : 1;
  plan.first_nic.assign(fabric.node_count() + 1, 0);
  plan.crossings.assign(fabric.channel_count(), 0.0);
  plan.askers.resize(fabric.node_count());
  for (StandingNic& nic : plan.nics) {
    ++plan.first_nic[nic.host.value() + 1];
    nic.first_row = plan.rows;
    plan.rows += static_cast<std::uint32_t>(nic.streams.size());
    if (nic.streams.empty()) continue;
    nic.packets_per_second = limits.packets_per_second / static_cast<double>(busy[nic.host]);
    nic.burst = std::clamp<std::uint32_t>(limits.burst, 1, static_cast<std::uint32_t>(nic.streams.size()));
    const double each = nic.packets_per_second / static_cast<double>(nic.streams.size());
    for (const StandingStream& stream : nic.streams) {
      plan.askers[fabric.port(stream.peer).node.value()].push_back(nic.nic);
      for (const PathSetId set : {stream.there, stream.back})
        for_each_certain(plan.paths, set,
                         [&](ChannelId channel) { plan.crossings[channel.value()] += each; });
    }
  }
  for (auto& its : plan.askers) {
    std::ranges::sort(its);
    its.erase(std::ranges::unique(its).begin(), its.end());
  }
  for (std::size_t node = 0; node < fabric.node_count(); ++node)
    plan.first_nic[node + 1] += plan.first_nic[node];
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) {
    if (plan.crossings[c] <= 0)
      plan.uncovered.emplace_back(c);
    else if (plan.crossings[c] < limits.crossings_per_second)
      plan.thin.emplace_back(c);
  }
}

}  // namespace

std::uint32_t StandingPlan::nic_of(std::uint32_t row) const {
  const auto behind = std::ranges::upper_bound(nics, row, {}, &StandingNic::first_row);
  auto at = static_cast<std::uint32_t>(behind - nics.begin()) - 1;
  while (nics[at].streams.empty()) --at;
  return at;
}

StandingPlan make_standing_plan(const Fabric& fabric, const plan::PathLearner& learner,
                                const std::vector<PortId>& nics, const PlanLimits& limits) {
  PathTable table = learner.table();
  std::vector<StandingNic> planned;
  std::vector<PortId> sorted = nics;
  std::ranges::sort(sorted, {}, [&](PortId nic) { return std::pair(fabric.port(nic).node, nic); });
  sorted.erase(std::ranges::unique(sorted).begin(), sorted.end());
  const std::unordered_set<PortId> takes_part(sorted.begin(), sorted.end());
  std::unordered_map<PortId, std::vector<PlannedPing>> by_nic;
  for (PlannedPing& ping : plan::plan_pings(learner))
    if (ping.back && takes_part.contains(ping.pair.src) && takes_part.contains(ping.pair.dst))
      by_nic[ping.pair.src].push_back(ping);
  std::vector<std::uint32_t> crossed(fabric.channel_count(), 0);
  for (const PortId nic : sorted) {
    StandingNic standing{.host = fabric.port(nic).node, .nic = nic};
    for (const PlannedPing& ping :
         spread(table, choose(table, std::move(by_nic[nic]), limits.streams, crossed)))
      standing.streams.push_back({ping.pair.dst, ping.label, ping.back_label, ping.path, *ping.back});
    planned.push_back(std::move(standing));
  }
  return plan_over(fabric, std::move(table), std::move(planned), limits);
}

StandingPlan plan_over(const Fabric& fabric, PathTable table, std::vector<StandingNic> nics,
                       const PlanLimits& limits) {
  StandingPlan plan{.paths = std::move(table), .nics = std::move(nics)};
  finish(fabric, limits, plan);
  return plan;
}

StandingPlan only_between(const Fabric& fabric, StandingPlan plan, const PlanLimits& limits,
                          const std::function<bool(PortId, PortId)>& can_probe) {
  std::size_t taken = 0;
  for (StandingNic& nic : plan.nics)
    taken += std::erase_if(nic.streams, [&](const StandingStream& stream) {
      return !can_probe(nic.nic, stream.peer) || !can_probe(stream.peer, nic.nic);
    });
  if (taken == 0) return plan;
  for (StandingNic& nic : plan.nics) nic.packets_per_second = 0;
  return plan_over(fabric, std::move(plan.paths), std::move(plan.nics), limits);
}

bool same_ways(const StandingPlan& a, const StandingPlan& b) {
  const auto same_set = [&](PathSetId x, PathSetId y) {
    return std::ranges::equal(a.paths.paths(x), b.paths.paths(y), [&](PathId p, PathId q) {
      return std::ranges::equal(a.paths.channels(p), b.paths.channels(q));
    });
  };
  const auto same_stream = [&](const StandingStream& x, const StandingStream& y) {
    return x.peer == y.peer && x.label == y.label && x.back_label == y.back_label &&
           same_set(x.there, y.there) && same_set(x.back, y.back);
  };
  return std::ranges::equal(a.nics, b.nics, [&](const StandingNic& x, const StandingNic& y) {
    return x.nic == y.nic && std::ranges::equal(x.streams, y.streams, same_stream);
  });
}

Assignment assignment_of(const Fabric& fabric, const StandingPlan& plan, NodeId host, PlanVersion version,
                         const StandingEnds& ends, const KeyEpochs& keys, Nanoseconds now) {
  Assignment told{.plan = version};
  std::vector<IpAddress> addresses;
  std::vector<NodeId> peer_hosts;
  std::map<PortId, std::uint32_t> peers;
  for (const StandingNic& nic : plan.nics_of(host)) {
    addresses.push_back(ends.at(nic.nic).at.address);
    NicSchedule schedule{.nic = nic.nic, .interface = ends.at(nic.nic).interface, .burst = nic.burst};
    if (!nic.streams.empty()) schedule.packets_per_second = nic.packets_per_second;
    for (const StandingStream& stream : nic.streams) {
      const auto [peer, is_new] = peers.emplace(stream.peer, static_cast<std::uint32_t>(peers.size()));
      if (is_new) {
        told.peers.push_back({stream.peer, ends.at(stream.peer).at.address});
        peer_hosts.push_back(fabric.port(stream.peer).node);
      }
      schedule.streams.push_back({peer->second, stream.label, stream.back_label});
    }
    told.nics.push_back(std::move(schedule));
  }
  for (const PortId asker : plan.askers[host.value()]) told.asked.push_back(ends.at(asker).at);
  const auto add_pair = [&](PortId nic) {
    if (const StandingEnd& end = ends.at(nic); end.pair) told.pairs.emplace(end.at.address, *end.pair);
  };
  for (const auto& [peer, index] : peers) add_pair(peer);
  for (const PortId asker : plan.askers[host.value()]) add_pair(asker);
  keys.give(told, host, addresses, peer_hosts, now);
  return told;
}

}  // namespace weft::watch
