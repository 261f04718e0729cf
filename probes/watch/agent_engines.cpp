#include "probes/watch/agent_engines.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "topology/model/fabric.hpp"

namespace weft::watch {
namespace {

/// The engine that probes over queue pairs, as command lines have it (run::to_string).
constexpr std::string_view kQueuePairs = "verbs";

}  // namespace

AgentEngines::AgentEngines(const Fabric& fabric, const std::vector<datapath::RunNic>& nics)
    : fabric_(&fabric) {
  for (const datapath::RunNic& nic : nics) nics_[fabric.port(nic.nic).node].push_back(nic);
}

AgentEngines::News AgentEngines::hear(std::string_view host, const AgentHello& hello) {
  News news;
  const auto node = fabric_->find_node(host);
  if (!node || !nics_.contains(*node)) return news;
  const auto before = std::exchange(engines_[*node], hello.engine);
  news.can_probe_others = before != hello.engine && (!before.empty() || hello.engine == kQueuePairs);
  for (const datapath::RunNic& nic : nics_.at(*node))
    for (const HostInterface& interface : hello.interfaces) {
      if (!interface.pair || std::ranges::find(interface.addresses, nic.address) == interface.addresses.end())
        continue;
      const auto [known, is_new] = pairs_.emplace(nic.nic, *interface.pair);
      if (!is_new && known->second == *interface.pair) continue;
      known->second = *interface.pair;
      news.moved[nic.nic] = *interface.pair;
      news.can_probe_others |= is_new;
    }
  return news;
}

const std::string& AgentEngines::engine_of(PortId nic) const {
  static const std::string none;
  const auto engine = engines_.find(fabric_->port(nic).node);
  return engine == engines_.end() ? none : engine->second;
}

bool AgentEngines::can_probe(PortId from, PortId to) const {
  const auto& one = engine_of(from);
  const auto& other = engine_of(to);
  if (one == kQueuePairs || other == kQueuePairs)
    return one == other && pairs_.contains(from) && pairs_.contains(to);
  return one == other || one.empty() || other.empty();
}

std::string AgentEngines::why_not(PortId from, PortId to) const {
  const auto said = [&](PortId nic) {
    const auto& engine = engine_of(nic);
    const bool waits = engine == kQueuePairs && !pairs_.contains(nic);
    return fmt::format("{} {}", fabric_->name_of(fabric_->port(nic).node),
                       waits            ? "has told no queue pair yet"
                       : engine.empty() ? "has not told its engine"
                                        : "probes by " + engine);
  };
  return fmt::format("{} and {}", said(from), said(to));
}

void AgentEngines::add_pairs(StandingEnds& ends) const {
  for (const auto& [nic, pair] : pairs_)
    if (const auto end = ends.find(nic); end != ends.end()) end->second.pair = pair;
}

StandingPlan AgentEngines::only_probed(StandingPlan plan, const PlanLimits& limits) const {
  return only_between(*fabric_, std::move(plan), limits,
                      [this](PortId from, PortId to) { return can_probe(from, to); });
}

std::string AgentEngines::not_probed(const StandingPlan& plan) const {
  std::set<std::pair<PortId, PortId>> pairs;
  for (const StandingNic& nic : plan.nics)
    for (const StandingStream& stream : nic.streams)
      if (!can_probe(nic.nic, stream.peer)) pairs.insert(std::minmax(nic.nic, stream.peer));
  if (pairs.empty()) return "";
  return fmt::format("{} pairs of NICs are not probed: both ends of a probe need the same engine: {}",
                     pairs.size(), why_not(pairs.begin()->first, pairs.begin()->second));
}

}  // namespace weft::watch
