#include "probes/run/agent_run.hpp"

#include <algorithm>
#include <chrono>

#include "topology/model/fabric.hpp"

namespace weft::run {
namespace {

/// A server that runs has one credential for all; of our own each participant has one for itself.
struct Server {
  std::optional<NatsServer> own;
  bus::NatsAddress running;

  bus::NatsAddress address_for(std::string_view participant) const {
    return own ? own->address_for(participant) : running;
  }
};

Result<Server> open_server(const BusPlace& place, RunId run, const Fabric& fabric, const AgentSite& site) {
  if (const auto* running = std::get_if<bus::NatsAddress>(&place)) return Server{std::nullopt, *running};
  std::vector<std::string> hosts;
  for (const AgentHost& host : site.hosts) hosts.push_back(agent_name(fabric, host));
  WEFT_TRY(auto own, NatsServer::start(std::get<ListenAddress>(place), run, hosts));
  return Server{std::move(own), {}};
}

/// As the coordinator, within the time that the run has.
Result<std::unique_ptr<session::Bus>> connect(const bus::NatsAddress& address, RunId run,
                                              const std::optional<session::TimeLimit>& limit,
                                              const std::stop_token& stop) {
  const auto until = limit ? std::optional(limit->until) : std::nullopt;
  auto bus = connect_nats(address, run, std::string(session::kCoordinator), {until, stop});
  if (!bus && limit && std::chrono::steady_clock::now() >= limit->until)
    return fail(ErrorKind::timeout, "the time given (--timeout {}) was over while connecting: {}",
                weft::to_string(limit->given), bus.error().message);
  return bus;
}

}  // namespace

Result<void> run_with_agents(const AgentSite& site, const BusPlace& place, const Fabric& fabric,
                             session::Script& script, const packet::RunSecrets& secrets,
                             const session::OnProgress& on_progress, std::stop_token stop,
                             session::CoordinatorTiming timing) {
  session::Coordinator coordinator(fabric, script, secrets, expected_hosts(site), timing);
  coordinator.name_targets(nics_of(site));
  if (const auto* standing = std::get_if<StandingAgents>(&place)) {
    if (site.agent_options.engine != EngineKind::automatic)
      coordinator.require_engine(to_string(site.agent_options.engine));
    WEFT_TRY(const auto bus, connect(standing->bus, standing->runs, timing.limit, stop));
    return coordinate(*bus, coordinator, on_progress, std::move(stop));
  }
  WEFT_TRY(const auto server, open_server(place, secrets.run, fabric, site));
  WEFT_TRY(const auto bus,
           connect(server.address_for(session::kCoordinator), secrets.run, timing.limit, stop));
  const auto bus_of = [&](const std::string& host) { return server.address_for(host); };
  WEFT_TRY(auto agents, Agents::start(fabric, site, bus_of, secrets.run, stop, timing.limit));
  return coordinate(*bus, coordinator, on_progress, std::move(stop), [&] {
    return agents.tend([&](const std::string& host) { return coordinator.awaits(host); });
  });
}

Result<lab::Lab> open_lab_for_run(const std::string& name, const std::filesystem::path& root) {
  auto lab = lab::Lab::open(name, root);
  if (!lab) return lab;
  WEFT_TRY_VOID(lab->enter_management());
  return lab;
}

Result<AgentSite> lab_site(const lab::Lab& lab, const std::vector<NodeId>& hosts) {
  WEFT_TRY(auto program, own_program());
  AgentSite site{.program = std::move(program), .one_machine = true};
  const auto all = lab.fabric().hosts();
  for (const NodeId host : hosts.empty() ? std::vector<NodeId>(all.begin(), all.end()) : hosts) {
    AgentHost agent{host, {}};
    for (const lab::LabNic& nic : lab.nics_of(host))
      agent.nics.push_back({{nic.interface, nic.address}, nic.port});
    site.hosts.push_back(std::move(agent));
  }
  // Their RDMA devices take what raw probes are answered by.
  if (std::ranges::all_of(site.hosts, [&](const AgentHost& host) { return lab.is_guest(host.host); }))
    site.agent_options.engine = EngineKind::verbs;
  site.launch = [&lab](const AgentHost& where, os::ChildSpec agent) {
    if (lab.is_guest(where.host)) agent.argv[0] = "weft";  // as its own files have it
    return spawn_in(lab, where.host, std::move(agent));
  };
  return site;
}

}  // namespace weft::run
