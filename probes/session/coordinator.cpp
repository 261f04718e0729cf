#include "probes/session/coordinator.hpp"

#include <algorithm>
#include <set>

#include "probes/session/answer_check.hpp"

namespace weft {
namespace {

constexpr auto kAliveInterval = std::chrono::seconds(1);

PeerReply nobody_answers(const PeerQuestion& question) {
  return {question.to, question.from, question.id, true, "no agent serves that NIC any more"};
}

}  // namespace

Coordinator::Coordinator(const Fabric& fabric, Script& script, RunSecrets secrets,
                         std::vector<ExpectedHost> hosts, CoordinatorTiming timing)
    : fabric_(fabric), secrets_(secrets), timing_(timing), script_(script) {
  std::set<PortId> expected;
  for (ExpectedHost& host : hosts) {
    const std::string name = fabric.name_of(host.host);
    for (const NicAssignment& nic : host.nics) {
      expected.insert(nic.nic);
      host_of_nic_[nic.nic] = name;
    }
    agents_.emplace(name, Agent{std::move(host)});
  }
  for (const PortId nic : fabric.nics())
    if (!expected.contains(nic)) script_.exclude(nic);
}

Coordinator::Actions Coordinator::start(TimePoint now) {
  now_ = now;
  gather_until_ = now + timing_.gather;
  last_alive_sent_ = now;
  return {Progress{"gathering agents", 0, agents_.size()}};
}

Coordinator::Actions Coordinator::on_message(const std::string& host, const ToCoordinator& message,
                                             TimePoint now) {
  now_ = now;
  Actions actions;
  const auto found = agents_.find(host);
  if (found == agents_.end() || found->second.state == AgentState::lost || phase_ == Phase::done)
    return actions;
  found->second.last_heard = now;
  std::visit([&](const auto& m) { on(found->second, host, m, actions); }, message);
  return actions;
}

Coordinator::Actions Coordinator::give_up(const std::string& host, const std::string& why, TimePoint now) {
  now_ = now;
  Actions actions;
  if (agents_.contains(host) && phase_ != Phase::done) lose(host, why, actions);
  return actions;
}

void Coordinator::on(Agent& agent, const std::string& name, const Hello& hello, Actions& actions) {
  if (!version_.empty() && hello.version != version_)
    return lose(name, fmt::format("its weft is version {}, this one is {}", hello.version, version_),
                actions);
  // A second hello is an agent that began anew: what it was doing is lost.
  if (agent.state == AgentState::ready)
    return lose(name, "its agent was started again during the sweep", actions);
  agent.state = AgentState::starting;
  agent.inventory = hello.inventory;
  actions.push_back(SendToAgent{name, StartRun{secrets_, agent.expected.nics, targets_}});
}

void Coordinator::on(Agent& agent, const std::string& name, const Ready& ready, Actions& actions) {
  if (agent.state != AgentState::starting || ready.run != secrets_.run) return;
  agent.state = AgentState::ready;
  const auto is_its_own = [&](PortId nic) {
    const auto owner = host_of_nic_.find(nic);
    return owner != host_of_nic_.end() && owner->second == name;
  };
  for (const NicUse& use : ready.uses)
    if (is_its_own(use.nic)) script_.note_use(use.nic, use.text);
  for (const NicTrouble& trouble : ready.troubles) {
    if (!is_its_own(trouble.nic)) continue;
    script_.exclude(trouble.nic);
    script_.blame({agent.expected.host, trouble.nic, Verdict::failed, std::nullopt, trouble.text});
  }
  const auto is_ready = [](const auto& entry) { return entry.second.state == AgentState::ready; };
  actions.push_back(Progress{"gathering agents",
                             static_cast<std::size_t>(std::ranges::count_if(agents_, is_ready)),
                             agents_.size()});
  if (phase_ == Phase::gathering && all_gathered()) begin_wave(actions);
}

void Coordinator::on(Agent& agent, const std::string& name, const TaskResult& result, Actions& actions) {
  const auto found = outstanding_.find(result.id);
  if (found == outstanding_.end() || found->second.host != name) return;
  const WorkItem& item = wave_[found->second.item];
  if (result.error) {
    script_.blame({fabric_.port(item.nic).node, item.nic, Verdict::failed, std::nullopt, *result.error});
    script_.exclude(item.nic);
    return take(result.id, nullptr, actions);
  }
  if (result.answer.index() != item.work.index())
    return lose(name, fmt::format("its agent answered something else while {}", script_.doing()), actions);
  if (const auto believed = check_answer(item.work, result.answer); !believed) {
    const PortId nic = item.nic;
    script_.blame({agent.expected.host, nic, Verdict::failed, std::nullopt, believed.error().message});
    script_.exclude(nic);
    return take(result.id, nullptr, actions);
  }
  take(result.id, &result.answer, actions);
}

void Coordinator::on(Agent&, const std::string&, const Alive&, Actions&) {}

void Coordinator::on(Agent&, const std::string& name, const Bye& bye, Actions& actions) {
  lose(name, "its agent left: " + bye.why, actions);
}

const std::string* Coordinator::working_host_of(PortId nic) const {
  const auto host = host_of_nic_.find(nic);
  if (host == host_of_nic_.end()) return nullptr;
  return agents_.at(host->second).state == AgentState::ready ? &host->second : nullptr;
}

void Coordinator::on(Agent&, const std::string& name, const PeerQuestion& question, Actions& actions) {
  const std::string* asking = working_host_of(question.from);
  if (!asking || *asking != name) return;
  const std::string* host = working_host_of(question.to);
  if (!host) return actions.push_back(SendToAgent{name, nobody_answers(question)});
  // A NIC asks one question after the other: who asks again waits for its last no longer.
  std::erase_if(unanswered_, [&](const PeerQuestion& asked) { return asked.from == question.from; });
  unanswered_.push_back({question.from, question.to, question.id, {}});
  actions.push_back(SendToAgent{*host, question});
}

void Coordinator::on(Agent&, const std::string& name, const PeerReply& reply, Actions& actions) {
  const std::string* answering = working_host_of(reply.from);
  if (!answering || *answering != name) return;
  std::erase(unanswered_, PeerQuestion{reply.to, reply.from, reply.id, {}});
  if (const std::string* host = working_host_of(reply.to)) actions.push_back(SendToAgent{*host, reply});
}

bool Coordinator::all_gathered() const {
  return std::ranges::all_of(agents_, [](const auto& entry) {
    return entry.second.state == AgentState::ready || entry.second.state == AgentState::lost;
  });
}

void Coordinator::lose(const std::string& name, const std::string& why, Actions& actions) {
  Agent& agent = agents_.at(name);
  if (agent.state == AgentState::lost) return;
  agent.state = AgentState::lost;
  script_.blame({agent.expected.host, std::nullopt, Verdict::failed, std::nullopt, why});
  for (const NicAssignment& nic : agent.expected.nics) script_.exclude(nic.nic);
  actions.push_back(SendToAgent{name, StopRun{}});
  answer_for(name, actions);
  std::vector<TaskId> given_up;
  for (const auto& [task, work] : outstanding_)
    if (work.host == name) given_up.push_back(task);
  for (const TaskId task : given_up) take(task, nullptr, actions);
  if (phase_ == Phase::gathering && all_gathered()) begin_wave(actions);
}

void Coordinator::answer_for(const std::string& name, Actions& actions) {
  std::erase_if(unanswered_, [&](const PeerQuestion& question) {
    if (host_of_nic_.at(question.to) != name) return false;
    if (const std::string* asking = working_host_of(question.from))
      actions.push_back(SendToAgent{*asking, nobody_answers(question)});
    return true;
  });
}

void Coordinator::take(TaskId task, const TaskAnswer* answer, Actions& actions) {
  const auto found = outstanding_.find(task);
  if (found == outstanding_.end()) return;
  const std::size_t item = found->second.item;
  outstanding_.erase(found);
  script_.take(wave_[item], answer);
  actions.push_back(Progress{script_.doing(), wave_.size() - outstanding_.size(), wave_.size()});
  if (outstanding_.empty()) begin_wave(actions);
}

std::vector<JoinedHost> Coordinator::joined_hosts() const {
  std::vector<JoinedHost> hosts;
  for (const auto& [name, agent] : agents_) {
    if (!agent.inventory || agent.state == AgentState::lost) continue;
    JoinedHost host{agent.expected.host, {}, *agent.inventory};
    for (const NicAssignment& nic : agent.expected.nics) host.nics.push_back({nic.nic, nic.interface});
    hosts.push_back(std::move(host));
  }
  return hosts;
}

void Coordinator::begin_wave(Actions& actions) {
  if (phase_ == Phase::gathering) script_.meet(joined_hosts());
  phase_ = Phase::running;
  wave_ = script_.next_wave();
  if (wave_.empty()) return finish(actions);
  for (std::size_t i = 0; i < wave_.size(); ++i) {
    const TaskId id(++last_task_);
    const std::string& host = host_of_nic_.at(wave_[i].nic);
    outstanding_.emplace(
        id,
        Outstanding{i, host,
                    now_ + std::chrono::duration_cast<TimePoint::duration>(wave_[i].limit + timing_.grace)});
    actions.push_back(SendToAgent{host, Task{id, wave_[i].nic, wave_[i].limit, wave_[i].work}});
  }
  actions.push_back(Progress{script_.doing(), 0, wave_.size()});
}

Coordinator::Actions Coordinator::stop_all() {
  phase_ = Phase::done;
  Actions actions;
  for (const auto& [name, agent] : agents_)
    if (agent.state != AgentState::lost) actions.push_back(SendToAgent{name, StopRun{}});
  return actions;
}

void Coordinator::finish(Actions& actions) {
  for (auto& action : stop_all()) actions.push_back(std::move(action));
  actions.push_back(AllDone{});
}

Coordinator::Actions Coordinator::on_tick(TimePoint now) {
  now_ = now;
  Actions actions;
  if (phase_ == Phase::done) return actions;
  if (now - last_alive_sent_ >= kAliveInterval) {
    last_alive_sent_ = now;
    for (const auto& [name, agent] : agents_)
      if (agent.state == AgentState::ready) actions.push_back(SendToAgent{name, Alive{}});
  }
  std::vector<std::pair<std::string, std::string>> gone;
  for (const auto& [name, agent] : agents_) {
    if (agent.state == AgentState::awaited && now >= gather_until_)
      gone.emplace_back(name, "its agent did not come");
    if (agent.state == AgentState::starting && now >= gather_until_)
      gone.emplace_back(name, "its agent did not get ready");
    if (agent.state == AgentState::ready && now - agent.last_heard > timing_.silence)
      gone.emplace_back(name, fmt::format("its agent fell silent while {}", script_.doing()));
  }
  for (const auto& [task, work] : outstanding_)
    if (now > work.deadline)
      gone.emplace_back(work.host, fmt::format("its agent did not finish {} in time", script_.doing()));
  for (const auto& [name, why] : gone) lose(name, why, actions);
  return actions;
}

}  // namespace weft
