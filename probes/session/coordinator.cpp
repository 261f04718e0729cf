#include "probes/session/coordinator.hpp"

#include <algorithm>

#include "probes/session/answer_check.hpp"
#include "topology/model/fabric.hpp"

namespace weft::session {
namespace {

constexpr auto kAliveInterval = std::chrono::seconds(1);
/// Between two calls: ten ticks that did not come.
constexpr auto kMaxTick = std::chrono::seconds(1);

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
  Actions actions{progress()};
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

void Coordinator::on(Agent& agent, const std::string& name, const Hello& hello, Actions& actions) {
  if (hello.protocol != kProtocol)
    return lose(name, Whose::tool,
                fmt::format("its weft is version {} and speaks protocol {}, this one speaks {}",
                            hello.version, hello.protocol, kProtocol),
                actions);
  // A second hello is an agent that began anew: what it was doing is lost.
  if (agent.state == AgentState::ready)
    return lose(name, Whose::tool,
                "its agent began anew during the run: it was started again, or had heard nothing for 10 s",
                actions);
  if (!sends_as_required(hello))
    return lose(
        name, Whose::tool,
        fmt::format("its agent was started with --engine {}, and this fabric is probed by --engine {}",
                    hello.engine, required_engine_),
        actions);
  if (!meet_nics(agent, hello))
    return lose(name, Whose::tool,
                "its agent was started with none of the NICs that the fabric file gives it", actions);
  agent.engine = hello.engine;
  const bool is_open = hello.engine == kAnyEngine && !script_.mixes_engines();
  if (!is_open || agent.state == AgentState::starting) return start_agent(agent, name, actions);
  agent.state = AgentState::offering;
  agent.offers = hello.offers;
  // It waits for the others: it is to know that it is not forgotten.
  actions.push_back(SendToAgent{name, Alive{}});
  choose_engine_of_run(actions);
}

void Coordinator::start_agent(Agent& agent, const std::string& name, Actions& actions) {
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
  actions.push_back(progress());
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
  choose_engine_of_run(actions);
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
  actions.push_back(progress());
  if (outstanding_.empty()) begin_wave(actions);
}

Progress Coordinator::progress() const {
  const auto is_ready = [](const auto& entry) { return entry.second.state == AgentState::ready; };
  if (phase_ == Phase::gathering)
    return {"gathering agents", static_cast<std::size_t>(std::ranges::count_if(agents_, is_ready)),
            agents_.size(), script_.part()};
  return {script_.doing(), wave_.size() - outstanding_.size(), wave_.size(), script_.part(),
          script_.probes_sent()};
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
  if (phase_ == Phase::gathering) {
    phase_ = Phase::running;
    keep_one_engine(actions);
    script_.meet(joined_hosts());
  }
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
  actions.push_back(progress());
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
  if (timing_.limit && now >= timing_.limit->until) return run_out();
  if (now - last_alive_sent_ >= kAliveInterval) {
    last_alive_sent_ = now;
    for (const auto& [name, agent] : agents_)
      if (agent.state != AgentState::awaited && agent.state != AgentState::lost)
        actions.push_back(SendToAgent{name, Alive{}});
    actions.push_back(progress());  // time goes by though nobody answers
  }
  if (now >= gather_until_) give_up_latecomers(actions);
  judge_silence(actions);
  judge_overdue(actions);
  return actions;
}

}  // namespace weft::session
