#include "cli/lab_agents.hpp"

#include "cli/agent.hpp"

namespace weft {
namespace {

/// This very program, also after its file was replaced.
constexpr const char* kSelf = "/proc/self/exe";

}  // namespace

Result<LabAgents> LabAgents::start(const Lab& lab, const std::vector<NodeId>& chosen, const NatsAddress& bus,
                                   RunId run) {
  auto logs = ScratchDirectory::make();
  if (!logs) return pass_on(logs);
  std::error_code error;
  const auto program = std::filesystem::read_symlink(kSelf, error);
  if (error) return fail(ErrorKind::internal, "cannot read {}: {}", kSelf, error.message());
  std::vector<ChildProcess> agents;
  for (const NodeId host : chosen) {
    AgentWords words{bus.url, run, lab.fabric().name_of(host), {}};
    for (const LabNic& nic : lab.nics_of(host)) words.nics.push_back({nic.interface, nic.address});
    ChildSpec spec{.argv = {program.string()}};
    for (auto& argument : agent_arguments(words)) spec.argv.push_back(std::move(argument));
    spec.env = {fmt::format("{}={}", kBusTokenVariable, bus.token)};
    spec.output = ToNothing{};
    spec.errors = ToFile{logs->path() / (words.host + ".log")};
    spec.own_session = true;
    auto agent = spawn_in(lab, host, std::move(spec));
    if (!agent) return pass_on(agent, "the agent of " + words.host);
    agents.push_back(std::move(*agent));
  }
  return LabAgents(std::move(*logs), std::move(agents));
}

std::vector<ExpectedHost> expected_hosts(const Lab& lab, const std::vector<NodeId>& chosen) {
  std::vector<ExpectedHost> hosts;
  for (const NodeId host : chosen) {
    ExpectedHost expected{host, {}};
    for (const LabNic& nic : lab.nics_of(host)) expected.nics.push_back({nic.interface, nic.port});
    hosts.push_back(std::move(expected));
  }
  return hosts;
}

}  // namespace weft
