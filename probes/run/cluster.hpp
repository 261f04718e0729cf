// A live fabric: its hosts, how agents are started on them, and where they reach the coordinator.
#pragma once

#include "probes/run/agent_run.hpp"
#include "probes/run/launch_template.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft::run {

struct ClusterOptions {
  LaunchTemplate launcher;
  std::optional<std::string> agent_program =
      std::nullopt;  // weft on the hosts; absent: this very program's path
  std::optional<BusPlace> bus =
      std::nullopt;  // absent: a server at this machine's address on the way to the hosts
  std::optional<Nanoseconds> gather = std::nullopt;  // how long to wait for agents; absent: by their number
  bool tree = false;                                 // hosts that were reached start the agents of others
};

struct Cluster {
  AgentSite site;
  BusPlace bus;
  session::CoordinatorTiming timing;
};

/// Agents on these hosts of the file, which must outlive the site. Error: absent (no address on the way to
/// the hosts was found).
Result<Cluster> cluster_of(const ClusterOptions& options, const files::FabricFile& file,
                           const std::vector<NodeId>& hosts);

/// The NICs that the agents of the site serve, and those of the fabric that none does.
std::vector<PortId> nics_with_agent(const AgentSite& site);
std::vector<PortId> nics_without_agent(const AgentSite& site, const Fabric& fabric);

}  // namespace weft::run
