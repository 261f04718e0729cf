#include "probes/session/coordinator.hpp"

#include <algorithm>

#include "probes/session/answer_check.hpp"
#include "topology/model/fabric.hpp"

namespace weft::session {
namespace {

constexpr auto kAliveInterval = std::chrono::seconds(1);
/// Between two calls: ten ticks that did not come.
constexpr auto kMaxTick = std::chrono::seconds(1);
/// Two signs of life that did not come, and a little.
constexpr auto kQuiet = std::chrono::milliseconds(2500);
/// Agents that fell silent or late for one reason did so within a sign of life of each other, and a little.
constexpr auto kAtOnce = std::chrono::milliseconds(1500);

PeerReply nobody_answers(const PeerQuestion& question) {
  return {question.to, question.from, question.id, true, "no agent serves that NIC any more"};
}

}  // namespace

Coordinator::Coordinator(const Fabric& fabric, Script& script, packet::RunSecrets secrets,
                         std::vector<ExpectedHost> hosts, CoordinatorTiming timing)
    : fabric_(fabric), secrets_(secrets), timing_(timing), script_(script) {
  std::set<PortId> expected;
  for (ExpectedHost& host : hosts) {
    const std::string name = host.agent.empty() ? fabric.name_of(host.host) : host.agent;
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
  Actions actions{Progress{"gathering agents", 0, agents_.size()}};
  if (agents_.empty()) finish(actions);  // nobody would ever speak
  return actions;
}

Coordinator::Actions Coordinator::on_message(const std::string& host, const ToCoordinator& message,
                                             TimePoint now) {
  advance(now);
  Actions actions;
  const auto found = agents_.find(host);
  if (found == agents_.end() || found->second.state == AgentState::lost || phase_ == Phase::done)
    return actions;
  note_heard(found->second);
  std::visit([&](const auto& m) { on(found->second, host, m, actions); }, message);
  return actions;
}

Coordinator::Actions Coordinator::give_up(const std::string& host, const std::string& why, TimePoint now) {
  advance(now);
  Actions actions;
  if (agents_.contains(host) && phase_ != Phase::done) lose(host, Whose::tool, why, actions);
  return actions;
}

void Coordinator::advance(TimePoint now) {
  const auto gap = now - now_;
  now_ = now;
  if (gap > kMaxTick) move_deadlines(gap);
}

/// Signs of life come once a second: where none came from anyone it was the bus, and what was asked meanwhile
/// came late.
void Coordinator::note_heard(Agent& agent) {
  const auto silence = now_ - last_heard_;
  last_heard_ = agent.last_heard = now_;
  if (phase_ != Phase::running || bus_silent_since_ || silence <= kQuiet) return;
  for (auto& [task, work] : outstanding_) work.deadline += silence;
  bus_was_silent_ = now_;
  script_.note_pause();
}

void Coordinator::move_deadlines(TimePoint::duration gap) {
  gather_until_ += gap;
  last_heard_ += gap;
  for (auto& [name, agent] : agents_) agent.last_heard += gap;
  for (auto& [task, work] : outstanding_) work.deadline += gap;
  if (bus_silent_since_) *bus_silent_since_ += gap;
  bus_was_silent_ = now_;
  script_.note_pause();
}

void Coordinator::on(Agent& agent, const std::string& name, const Hello& hello, Actions& actions) {
  if (hello.protocol != kProtocol)
    return lose(name, Whose::tool,
                fmt::format("its weft is version {} and speaks protocol {}, this one speaks {}",
                            hello.version, hello.protocol, kProtocol),
                actions);
  // A second hello is an agent that began anew: what it was doing is lost.
  if (agent.state == AgentState::ready)
    return lose(name, Whose::tool, "its agent was started again during the run", actions);
  agent.state = AgentState::starting;
  actions.push_back(SendToAgent{name, StartRun{secrets_, agent.expected.nics, targets_}});
}

void Coordinator::on(Agent& agent, const std::string& name, const Ready& ready, Actions& actions) {
  if (agent.state != AgentState::starting) return;
  agent.state = AgentState::ready;
  agent.inventory = ready.inventory;
  const auto is_its_own = [&](PortId nic) {
    const auto owner = host_of_nic_.find(nic);
    return owner != host_of_nic_.end() && owner->second == name;
  };
  for (const NicUse& use : ready.uses)
    if (is_its_own(use.nic)) script_.note_use(use.nic, use.text);
  std::set<PortId> untested;
  for (const NicTrouble& trouble : ready.troubles) {
    if (!is_its_own(trouble.nic)) continue;
    script_.exclude(trouble.nic);
    if (trouble.of_tool) {
      untested.insert(trouble.nic);
      leave_out(agent.expected.host, trouble.nic, trouble.text);
    } else {
      script_.blame({agent.expected.host, trouble.nic, Verdict::failed, std::nullopt, trouble.text});
    }
  }
  agent.took_part = untested.size() < agent.expected.nics.size();
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
    const NodeId host = fabric_.port(item.nic).node;
    if (result.of_tool)
      leave_out(host, item.nic, *result.error);
    else
      script_.blame({host, item.nic, Verdict::failed, std::nullopt, *result.error});
    script_.exclude(item.nic);
    return take(result.id, nullptr, actions);
  }
  if (result.answer.index() != item.work.index())
    return lose(name, Whose::tool, fmt::format("its agent answered something else while {}", script_.doing()),
                actions);
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
  lose(name, Whose::tool, "its agent left: " + bye.why, actions);
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

void Coordinator::leave_out(NodeId host, std::optional<PortId> nic, const std::string& why) {
  left_out_.push_back(fmt::format("{}: {}", nic ? fabric_.name_of_nic(*nic) : fabric_.name_of(host), why));
  script_.not_tested({host, nic, why});
}

void Coordinator::lose(const std::string& name, Whose whose, const std::string& why, Actions& actions) {
  Agent& agent = agents_.at(name);
  if (agent.state == AgentState::lost) return;
  agent.state = AgentState::lost;
  const bool one_of_several = !agent.expected.agent.empty() && agent.expected.nics.size() == 1;
  const auto own = one_of_several ? std::optional(agent.expected.nics.front().nic) : std::nullopt;
  if (whose == Whose::host)
    script_.blame({agent.expected.host, own, Verdict::failed, std::nullopt, why});
  else
    leave_out(agent.expected.host, own, why);
  for (const NicAssignment& nic : agent.expected.nics) script_.exclude(nic.nic);
  actions.push_back(SendToAgent{name, StopRun{}});
  if (phase_ == Phase::running && !anyone_at_work() &&
      script_.cut_short(fmt::format("no agent is left; {}: {}", name, why)))
    return finish(actions);
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

std::vector<diagnosis::JoinedHost> Coordinator::joined_hosts() const {
  std::vector<diagnosis::JoinedHost> hosts;
  for (const auto& [name, agent] : agents_) {
    if (!agent.inventory || agent.state == AgentState::lost) continue;
    diagnosis::JoinedHost host{agent.expected.host, {}, *agent.inventory};
    for (const NicAssignment& nic : agent.expected.nics) host.nics.push_back({nic.nic, nic.interface});
    hosts.push_back(std::move(host));
  }
  return hosts;
}

bool Coordinator::anyone_at_work() const {
  return std::ranges::any_of(agents_,
                             [](const auto& entry) { return entry.second.state == AgentState::ready; });
}

bool Coordinator::anyone_took_part() const {
  return std::ranges::any_of(agents_, [](const auto& entry) { return entry.second.took_part; });
}

void Coordinator::begin_wave(Actions& actions) {
  if (phase_ == Phase::gathering && !anyone_took_part()) {
    if (!left_out_.empty())
      outcome_ = fail(ErrorKind::absent, "none of {} hosts took part; {}", agents_.size(), left_out_.front());
    return finish(actions);
  }
  if (phase_ == Phase::gathering) script_.meet(joined_hosts());
  phase_ = Phase::running;
  wave_ = script_.next_wave();
  overdue_.clear();
  if (wave_.empty()) return finish(actions);
  for (std::size_t i = 0; i < wave_.size(); ++i) {
    const TaskId id(++last_task_);
    const std::string& host = host_of_nic_.at(wave_[i].nic);
    outstanding_.emplace(
        id,
        Outstanding{i, host, now_,
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

Coordinator::Actions Coordinator::lose_bus(const std::string& why) {
  Actions actions;
  if (phase_ == Phase::done) return actions;
  if (phase_ == Phase::gathering || !script_.cut_short(why)) outcome_ = fail(ErrorKind::absent, "{}", why);
  finish(actions);
  return actions;
}

Coordinator::Actions Coordinator::on_tick(TimePoint now) {
  advance(now);
  Actions actions;
  if (phase_ == Phase::done) return actions;
  if (now - last_alive_sent_ >= kAliveInterval) {
    last_alive_sent_ = now;
    for (const auto& [name, agent] : agents_)
      if (agent.state == AgentState::ready || agent.state == AgentState::starting)
        actions.push_back(SendToAgent{name, Alive{}});
  }
  if (now >= gather_until_) give_up_latecomers(actions);
  judge_silence(actions);
  judge_overdue(actions);
  return actions;
}

void Coordinator::give_up_latecomers(Actions& actions) {
  for (const auto& [name, agent] : agents_) {
    if (agent.state == AgentState::awaited) lose(name, Whose::tool, "its agent did not come", actions);
    const bool opens = now_ - agent.last_heard <= timing_.silence && now_ < gather_until_ + timing_.open;
    if (agent.state == AgentState::starting && !opens)
      lose(name, Whose::tool, "its agent did not get ready", actions);
  }
}

/// Judged a little later than the limit, when all that fell silent for the same reason are beyond it.
void Coordinator::judge_silence(Actions& actions) {
  if (phase_ != Phase::running) return;
  std::vector<std::string> silent;
  std::size_t at_work = 0;
  bool is_time = false;
  for (const auto& [name, agent] : agents_) {
    if (agent.state != AgentState::ready) continue;
    ++at_work;
    const auto silence = now_ - agent.last_heard;
    if (silence > timing_.silence) silent.push_back(name);
    is_time |= silence > timing_.silence + kAtOnce;
  }
  const bool most = silent.size() * 2 > at_work;
  if (bus_silent_since_ || (is_time && most)) return await_bus(most, actions);
  if (!is_time) return;
  const bool alone = silent.size() == 1;
  const auto why = alone ? fmt::format("its agent fell silent while {}", script_.doing())
                         : fmt::format("{} agents fell silent at once while {}, others did not",
                                       silent.size(), script_.doing());
  for (const std::string& name : silent) lose(name, alone ? Whose::host : Whose::tool, why, actions);
}

void Coordinator::await_bus(bool is_silent, Actions& actions) {
  if (!bus_silent_since_) {
    bus_silent_since_ = now_;
    for (const auto& [name, agent] : agents_)
      if (agent.state == AgentState::ready)
        bus_silent_since_ = std::min(*bus_silent_since_, agent.last_heard);
    script_.note_pause();
  }
  const auto silence = now_ - *bus_silent_since_;
  if (is_silent && silence > timing_.bus_silence) {
    const auto why = fmt::format(
        "most agents fell silent at once while {}: the bus between them and this "
        "machine is lost",
        script_.doing());
    for (auto& action : lose_bus(why)) actions.push_back(std::move(action));
  }
  if (is_silent) return;
  for (auto& [name, agent] : agents_) agent.last_heard = now_;
  for (auto& [task, work] : outstanding_) work.deadline += silence;
  bus_silent_since_.reset();
  bus_was_silent_ = now_;
}

/// Only of an agent that was heard since its deadline (what it said before has come too), and a little later.
void Coordinator::judge_overdue(Actions& actions) {
  if (phase_ != Phase::running || bus_silent_since_) return;
  std::set<std::string> heard;
  bool is_time = false;
  bool over_bus = false;  // that lost some of what it carried, perhaps
  for (const auto& [task, work] : outstanding_) {
    if (now_ <= work.deadline) continue;
    overdue_.insert(work.host);
    if (agents_.at(work.host).last_heard > work.deadline) heard.insert(work.host);
    is_time |= now_ > work.deadline + kAtOnce;
    over_bus |= bus_was_silent_ && *bus_was_silent_ >= work.sent;
  }
  if (!is_time) return;
  const bool alone = overdue_.size() == 1 && !over_bus;
  const auto* others = alone ? "" : ", nor did others";
  const auto why = fmt::format("its agent did not finish {} in time{}", script_.doing(), others);
  for (const std::string& name : heard) lose(name, alone ? Whose::host : Whose::tool, why, actions);
}

}  // namespace weft::session
