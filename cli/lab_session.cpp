#include "cli/lab_session.hpp"

#include "cli/lab_agents.hpp"
#include "cli/lab_place.hpp"
#include "cli/nats_server.hpp"

namespace weft {

Result<Lab> open_lab_for_run(const std::string& name) {
  auto lab = Lab::open(name, lab_state_root());
  if (!lab) return lab;
  if (const auto entered = lab->enter_management(); !entered) return pass_on(entered);
  return lab;
}

Result<void> run_in_lab(const Lab& lab, Script& script, const RunSecrets& secrets,
                        const std::vector<NodeId>& hosts, const OnProgress& on_progress,
                        std::stop_token stop) {
  const auto all = lab.fabric().hosts();
  const std::vector<NodeId> chosen = hosts.empty() ? std::vector<NodeId>(all.begin(), all.end()) : hosts;
  const auto server = NatsServer::start(lab.coordinator_address());
  if (!server) return pass_on(server);
  const auto bus = connect_nats(server->address(), secrets.run, std::string(kCoordinator));
  if (!bus) return pass_on(bus);
  const auto agents = LabAgents::start(lab, chosen, server->address(), secrets.run);
  if (!agents) return pass_on(agents);
  Coordinator coordinator(lab.fabric(), script, secrets, expected_hosts(lab, chosen));
  return coordinate(**bus, coordinator, on_progress, std::move(stop));
}

}  // namespace weft
