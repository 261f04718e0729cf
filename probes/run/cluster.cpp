#include "probes/run/cluster.hpp"

#include <set>

#include "topology/model/fabric.hpp"

namespace weft::run {
namespace {

/// A login takes a second; on a cluster's first contact ssh may have to wait for name servers.
constexpr auto kGather = std::chrono::seconds(30);
/// Starting one agent more costs the coordinator this much (a fork and a key exchange).
constexpr auto kGatherPerHost = std::chrono::milliseconds(50);
/// Agents that stand say hello once a second; one whose bus comes back, after two seconds.
constexpr auto kGatherStanding = std::chrono::seconds(5);

AgentHost agent_on(const files::FabricFile& file, NodeId host) {
  AgentHost agent{host, {}};
  for (const PortId port : file.fabric.ports_of(host))
    if (const auto address = file.addresses.address_of(port); address && file.fabric.port(port).link)
      agent.nics.push_back({{to_string(*address), *address}, port});
  return agent;
}

}  // namespace

Result<Cluster> cluster_of(const ClusterOptions& options, const files::FabricFile& file,
                           const std::vector<NodeId>& hosts) {
  Cluster cluster;
  std::vector<std::string> names;
  for (const NodeId host : hosts) {
    cluster.site.hosts.push_back(agent_on(file, host));
    names.push_back(file.fabric.name_of(host));
  }
  WEFT_TRY(const auto own, own_program());
  cluster.site.program = options.agent_program.value_or(own);
  const bool stand = options.bus && std::holds_alternative<StandingAgents>(*options.bus);
  cluster.timing.gather =
      options.gather.value_or(stand ? Nanoseconds(kGatherStanding) : kGather + kGatherPerHost * hosts.size());
  if (options.bus) {
    cluster.bus = *options.bus;
  } else {
    WEFT_TRY(const auto address, address_towards(names));
    cluster.bus = ListenAddress{address};
  }
  if (options.tree) cluster.site.tree = options.launcher;
  cluster.site.launch = [launcher = options.launcher, &fabric = file.fabric](const AgentHost& where,
                                                                             os::ChildSpec agent) {
    agent.argv = launcher.command(fabric.name_of(where.host), agent.argv);
    return os::ChildProcess::start(agent);
  };
  return cluster;
}

std::vector<PortId> nics_with_agent(const AgentSite& site) {
  std::vector<PortId> served;
  for (const AgentHost& host : site.hosts)
    for (const AgentNic& nic : host.nics) served.push_back(nic.nic);
  return served;
}

std::vector<PortId> nics_without_agent(const AgentSite& site, const Fabric& fabric) {
  const auto with = nics_with_agent(site);
  const std::set<PortId> served(with.begin(), with.end());
  std::vector<PortId> others;
  for (const PortId nic : fabric.nics())
    if (!served.contains(nic)) others.push_back(nic);
  return others;
}

}  // namespace weft::run
