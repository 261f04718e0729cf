#include "probes/plan/miswirings.hpp"

#include <set>

#include "topology/model/fabric.hpp"

namespace weft::plan {
namespace {

/// Where switches spray, each hop of a trace may lie on another path: of two spines all of eight come from
/// the same wrong one with odds of 1 in 256, of more with less.
constexpr std::uint32_t kMinTraces = 8;
constexpr double kSeen = 50;  // nats: seen, not inferred

/// What lies behind a port, by the traces.
struct Behind {
  std::set<NodeId> nodes;
  std::uint32_t traces = 0;
};

std::optional<NodeId> wired_to(const Fabric& fabric, PortId port) {
  const auto link = fabric.port(port).link;
  if (!link) return std::nullopt;
  const Link& cable = fabric.link(*link);
  return fabric.port(cable.a == port ? cable.b : cable.a).node;
}

bool are_joined(const Fabric& fabric, NodeId a, NodeId b) {
  for (const PortId port : fabric.ports_of(a))
    if (wired_to(fabric, port) == b) return true;
  return false;
}

void note_port(const Fabric& fabric, PortId port, const Behind& behind, Miswirings& found) {
  const auto wanted = wired_to(fabric, port);
  if (behind.traces < kMinTraces || behind.nodes.size() != 1 || wanted == *behind.nodes.begin()) return;
  const auto name = fabric.name_of(port);
  const auto text = fmt::format("{} traces come from {} into {}, which the fabric joins with {}{}",
                                behind.traces, fabric.name_of(*behind.nodes.begin()), name,
                                wanted ? fabric.name_of(*wanted) : "nothing", kMiswired);
  const auto in = fabric.channel_into(port);
  const auto out = fabric.channel_from(port);
  if (!in || !out)
    return found.hosts.push_back({fabric.port(port).node, std::nullopt, Verdict::failed, Cause::down, text});
  for (const ChannelId channel : {*in, *out}) found.channels.push_back({channel, Cause::down, kSeen, text});
}

}  // namespace

Miswirings miswirings(const Fabric& fabric, const PathLearner& learner) {
  Miswirings found;
  std::map<PortId, Behind> ports;
  for (const auto& [entry, traces] : learner.entries()) {
    if (entry.port) {
      ports[*entry.port].nodes.insert(entry.before);
      ports[*entry.port].traces += traces;
    } else if (traces >= kMinTraces && !are_joined(fabric, entry.before, entry.node)) {
      found.hosts.push_back(
          {entry.node, std::nullopt, Verdict::failed, Cause::down,
           fmt::format("{} traces come into it from {}, and no cable of the fabric joins the "
                       "two{}",
                       traces, fabric.name_of(entry.before), kMiswired)});
    }
  }
  for (const auto& [port, behind] : ports) note_port(fabric, port, behind, found);
  return found;
}

}  // namespace weft::plan
