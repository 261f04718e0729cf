#include "probes/session/agent_roster.hpp"

#include <algorithm>
#include <set>

#include "probes/session/engine_choice.hpp"

namespace weft::session {
namespace {

/// Those of `nics` that an agent that reports these does not serve, by their names, else by their addresses.
/// The others get its own names.
std::set<PortId> not_served(std::vector<NicAssignment>& nics, const std::vector<NicReport>& reports,
                            const std::vector<datapath::RunNic>& targets) {
  std::set<PortId> others;
  for (NicAssignment& nic : nics) {
    if (std::ranges::find(reports, nic.interface, &NicReport::interface) != reports.end()) continue;
    const auto target = std::ranges::find(targets, nic.nic, &datapath::RunNic::nic);
    const auto own = target == targets.end()
                         ? reports.end()
                         : std::ranges::find(reports, target->address, &NicReport::address);
    if (own != reports.end())
      nic.interface = own->interface;
    else
      others.insert(nic.nic);
  }
  return others;
}

}  // namespace

AgentRoster::AgentRoster(const Fabric& fabric, std::vector<ExpectedHost> hosts) {
  for (ExpectedHost& host : hosts) {
    const std::string name = host.agent.empty() ? fabric.name_of(host.host) : host.agent;
    for (const NicAssignment& nic : host.nics) agent_of_nic_[nic.nic] = name;
    agents_.emplace(name, Agent{std::move(host)});
  }
}

AgentRoster::Agent* AgentRoster::find(const std::string& name) {
  const auto found = agents_.find(name);
  return found == agents_.end() ? nullptr : &found->second;
}

const AgentRoster::Agent* AgentRoster::find(const std::string& name) const {
  const auto found = agents_.find(name);
  return found == agents_.end() ? nullptr : &found->second;
}

std::size_t AgentRoster::count(State state) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(agents_, [&](const auto& entry) { return entry.second.state == state; }));
}

bool AgentRoster::anyone_took_part() const {
  return std::ranges::any_of(agents_, [](const auto& entry) { return entry.second.took_part; });
}

const std::string* AgentRoster::agent_of(PortId nic) const {
  const auto found = agent_of_nic_.find(nic);
  return found == agent_of_nic_.end() ? nullptr : &found->second;
}

const std::string* AgentRoster::working_agent_of(PortId nic) const {
  const std::string* name = agent_of(nic);
  return name && agents_.at(*name).state == State::ready ? name : nullptr;
}

std::vector<diagnosis::JoinedHost> AgentRoster::joined_hosts() const {
  std::vector<diagnosis::JoinedHost> hosts;
  for (const auto& [name, agent] : agents_) {
    if (!agent.inventory || agent.state == State::lost) continue;
    diagnosis::JoinedHost host{agent.expected.host, {}, *agent.inventory};
    for (const NicAssignment& nic : agent.expected.nics) host.nics.push_back({nic.nic, nic.interface});
    hosts.push_back(std::move(host));
  }
  return hosts;
}

Result<std::vector<PortId>> AgentRoster::admit(Agent& agent, const Hello& hello) const {
  if (hello.protocol != kProtocol)
    return fail(ErrorKind::conflict, "its weft is version {} and speaks protocol {}, this one speaks {}",
                hello.version, hello.protocol, kProtocol);
  // A second hello is an agent that began anew: what it was doing is lost.
  if (agent.state == State::ready)
    return fail(ErrorKind::conflict,
                "its agent began anew during the run: it was started again, or had heard nothing for 10 s");
  // One that does not tell its engine may.
  if (!required_engine_.empty() && !hello.engine.empty() &&
      kind_of_engine(hello.engine) != kind_of_engine(required_engine_))
    return fail(ErrorKind::conflict,
                "its agent was started with --engine {}, and this fabric is probed by --engine {}",
                hello.engine, required_engine_);
  agent.engine = hello.engine;
  if (hello.nics.empty()) return {};
  auto& nics = agent.expected.nics;
  const auto others = not_served(nics, hello.nics, targets_);
  if (!nics.empty() && others.size() == nics.size())
    return fail(ErrorKind::conflict,
                "its agent was started with none of the NICs that the fabric file gives it");
  std::erase_if(nics, [&](const NicAssignment& nic) { return others.contains(nic.nic); });
  return std::vector(others.begin(), others.end());
}

}  // namespace weft::session
