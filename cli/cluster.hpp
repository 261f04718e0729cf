// A live fabric, as sweep and trace are told of it: its file with addresses, its hosts, and how agents are
// started on them.
#pragma once

#include "cli/agent_session.hpp"
#include "cli/options.hpp"
#include "probes/plan/path_learner.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft {

/// --launcher, --listen, --server, --agent-program, --gather.
void add_launch_options(po::options_description& options);

/// A RoCE fabric with addresses, or an InfiniBand one, whose NICs the subnet tells; an Error says what is
/// missing.
Result<FabricFile> read_live_fabric(const std::string& path);

struct Cluster {
  AgentSite site;
  BusPlace bus;
  CoordinatorTiming timing;
};

/// The hosts that --hosts names (a list, or @FILE); without it, all with an address. Errors: a name that is
/// no host of the fabric, or a host without an address.
Result<std::vector<NodeId>> chosen_hosts(const po::variables_map& values, const FabricFile& file);

/// Agents on these hosts, started and reached as the launch options say.
Result<Cluster> cluster_of(const po::variables_map& values, const FabricFile& file,
                           const std::vector<NodeId>& hosts);

/// One line on stderr about hops that answered from addresses the fabric file does not list, where there are
/// any: paths are then less certain than they could be.
void report_strangers(const Fabric& fabric, const PathLearner& learner);

/// The NICs that the agents of the site serve, and those of the fabric that none does.
std::vector<PortId> nics_with_agent(const AgentSite& site);
std::vector<PortId> nics_without_agent(const AgentSite& site, const Fabric& fabric);

}  // namespace weft
