// A run over agents: the server between them and us, the agents themselves, and the coordinator that drives a
// script. The same for a lab and a cluster; they differ in their AgentSite.
#pragma once

#include <variant>

#include "probes/run/agents.hpp"
#include "probes/run/nats_server.hpp"
#include "topology/lab/netns/lab.hpp"

namespace weft::run {

/// Agents that stand at a server of `weft bus init`: none is started. They serve runs under this number.
struct StandingAgents {
  bus::NatsAddress bus;  // with the login of who coordinates runs
  RunId runs;
};

/// A server of our own that listens there, or one that runs, for agents that are started; or agents that
/// stand.
using BusPlace = std::variant<ListenAddress, bus::NatsAddress, StandingAgents>;

/// Runs `script` with an agent on each host of the site; blocks until it is over, interrupted, or the bus is
/// lost. Errors: of agents that stand, absent or permission where their server is not there or refuses the
/// login. Everything it started here has ended when it returns; agents elsewhere end by themselves, at the
/// coordinator's word or its silence.
Result<void> run_with_agents(const AgentSite& site, const BusPlace& bus, const Fabric& fabric,
                             session::Script& script, const packet::RunSecrets& secrets,
                             const session::OnProgress& on_progress, std::stop_token stop,
                             session::CoordinatorTiming timing = {});

/// Opens the lab `name`, kept below `root`, for a run: moves this process to where the agents can reach it.
/// Call before any thread starts.
Result<lab::Lab> open_lab_for_run(const std::string& name, const std::filesystem::path& root);

/// These hosts of a lab (all of them when empty), which must outlive the site.
Result<AgentSite> lab_site(const lab::Lab& lab, const std::vector<NodeId>& hosts);

}  // namespace weft::run
