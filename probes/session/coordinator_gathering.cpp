// Who takes part in a run: by which NICs of those that the fabric file has, and by which engine.
#include "probes/session/coordinator.hpp"

#include <algorithm>

#include "probes/session/engine_choice.hpp"
#include "topology/model/fabric.hpp"

namespace weft::session {
namespace {

/// Engines of one kind answer each other: packets of DPDK and of raw sockets are the same, and management
/// datagrams in ibsim are what they are elsewhere.
std::string_view kind_of(std::string_view engine) {
  if (engine == kDpdkEngine) return kRawEngine;
  return engine == kIbsimEngine ? kUmadEngine : engine;
}

}  // namespace

/// One that does not tell may.
bool Coordinator::sends_as_required(const Hello& hello) const {
  return required_engine_.empty() || hello.engine.empty() ||
         kind_of(hello.engine) == kind_of(required_engine_);
}

/// By their names, else by their addresses. False: it serves none of them.
bool Coordinator::meet_nics(Agent& agent, const Hello& hello) {
  if (hello.nics.empty()) return true;
  auto& nics = agent.expected.nics;
  std::set<PortId> others;
  for (NicAssignment& nic : nics) {
    if (std::ranges::find(hello.nics, nic.interface, &NicReport::interface) != hello.nics.end()) continue;
    const auto target = std::ranges::find(targets_, nic.nic, &datapath::RunNic::nic);
    const auto own = target == targets_.end()
                         ? hello.nics.end()
                         : std::ranges::find(hello.nics, target->address, &NicReport::address);
    if (own != hello.nics.end())
      nic.interface = own->interface;
    else
      others.insert(nic.nic);
  }
  if (!nics.empty() && others.size() == nics.size()) return false;
  for (const PortId nic : others) {
    script_.exclude(nic);
    leave_out(agent.expected.host, nic, "its agent was not started with this NIC");
  }
  std::erase_if(nics, [&](const NicAssignment& nic) { return others.contains(nic.nic); });
  return true;
}

void Coordinator::choose_engine_of_run(Actions& actions) {
  const auto is = [](AgentState state) {
    return [state](const auto& entry) { return entry.second.state == state; };
  };
  if (phase_ == Phase::done || std::ranges::any_of(agents_, is(AgentState::awaited))) return;
  std::vector<OfferOfNic> offers;
  for (const auto& [name, agent] : agents_) {
    if (agent.state != AgentState::offering) continue;
    for (const NicAssignment& nic : agent.expected.nics) {
      const auto offer = std::ranges::find(agent.offers, nic.interface, &NicOffer::interface);
      offers.push_back({nic.nic, offer == agent.offers.end() ? NicOffer{} : *offer});
    }
  }
  if (offers.empty()) return;
  const EngineChoice choice = choose_engine(fabric_, offers);
  script_.note_engine(choice.engine, choice.why);
  std::map<PortId, std::string> unfit;
  for (const auto& [nic, why] : choice.unfit) unfit.emplace(nic, why);
  std::vector<std::pair<std::string, std::string>> useless;  // agents, and why
  for (auto& [name, agent] : agents_) {
    if (agent.state != AgentState::offering) continue;
    auto& nics = agent.expected.nics;
    const bool all_unfit =
        std::ranges::all_of(nics, [&](const NicAssignment& nic) { return unfit.contains(nic.nic); });
    if (all_unfit) {
      agent.state = AgentState::starting;  // no offer any more
      useless.emplace_back(name, unfit.at(nics.front().nic));
      continue;
    }
    for (NicAssignment& nic : nics) {
      nic.engine = choice.engine;
      if (!unfit.contains(nic.nic)) continue;
      script_.exclude(nic.nic);
      leave_out(agent.expected.host, nic.nic, unfit.at(nic.nic));
    }
    std::erase_if(nics, [&](const NicAssignment& nic) { return unfit.contains(nic.nic); });
    start_agent(agent, name, actions);
  }
  for (const auto& [name, why] : useless) lose(name, Whose::tool, why, actions);
}

/// That of most NICs.
void Coordinator::keep_one_engine(Actions& actions) {
  if (script_.mixes_engines()) return;
  const auto kind = [](const Agent& agent) { return kind_of(agent.engine); };
  const auto is_told = [](const Agent& agent) {
    return agent.state == AgentState::ready && !agent.engine.empty() && agent.engine != kAnyEngine;
  };
  std::map<std::string_view, std::size_t> nics;
  for (const auto& [name, agent] : agents_)
    if (is_told(agent)) nics[kind(agent)] += agent.expected.nics.size();
  if (nics.size() < 2) return;
  const std::string most(std::ranges::max_element(nics, {}, &decltype(nics)::value_type::second)->first);
  for (const auto& [name, agent] : agents_)
    if (is_told(agent) && kind(agent) != most)
      lose(name, Whose::tool,
           fmt::format("its agent probes by {}, and those of most NICs by {}: neither answers the other",
                       agent.engine, most),
           actions);
}

}  // namespace weft::session
