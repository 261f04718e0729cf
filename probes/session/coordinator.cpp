#include "probes/session/coordinator.hpp"

#include <set>

#include "probes/session/answer_check.hpp"
#include "probes/session/engine_choice.hpp"
#include "topology/model/fabric.hpp"

namespace weft::session {
namespace {

constexpr auto kAliveInterval = std::chrono::seconds(1);
/// Between two calls: ten ticks that did not come.
constexpr auto kMaxTick = std::chrono::seconds(1);

}  // namespace

Coordinator::Coordinator(const Fabric& fabric, Script& script, packet::RunSecrets secrets,
                         std::vector<ExpectedHost> hosts, CoordinatorTiming timing)
    : fabric_(fabric),
      secrets_(secrets),
      timing_(timing),
      script_(script),
      roster_(fabric, std::move(hosts)),
      bus_(timing.silence, timing.bus_silence) {
  for (const PortId nic : fabric.nics())
    if (!roster_.agent_of(nic)) script_.exclude(nic);
}

Coordinator::Actions Coordinator::start(TimePoint now) {
  now_ = now;
  gather_until_ = now + timing_.gather;
  last_alive_sent_ = now;
  Actions actions{progress()};
  if (roster_.agents().empty()) finish(actions);  // nobody would ever speak
  return actions;
}

Coordinator::Actions Coordinator::on_message(const std::string& host, const ToCoordinator& message,
                                             TimePoint now) {
  advance(now);
  Actions actions;
  Agent* agent = roster_.find(host);
  if (!agent || agent->state == AgentState::lost || phase_ == Phase::done) return actions;
  note_heard(*agent);
  std::visit([&](const auto& m) { on(*agent, host, m, actions); }, message);
  return actions;
}

void Coordinator::note_busy(const std::string& host) {
  if (Agent* agent = roster_.find(host)) agent->busy = true;
}

Coordinator::Actions Coordinator::give_up(const std::string& host, const std::string& why, TimePoint now) {
  advance(now);
  Actions actions;
  if (roster_.find(host) && phase_ != Phase::done) lose(host, Whose::tool, why, actions);
  return actions;
}

/// What happened in a gap is not known to this process: all that waits waits longer.
void Coordinator::advance(TimePoint now) {
  const auto gap = now - now_;
  now_ = now;
  if (gap <= kMaxTick) return;
  gather_until_ += gap;
  for (auto& [name, agent] : roster_.agents()) agent.last_heard += gap;
  wave_.put_off(gap);
  bus_.skip(gap, now);
  script_.note_pause();
}

/// What was asked while the bus was silent came late.
void Coordinator::note_heard(Agent& agent) {
  agent.last_heard = now_;
  const auto pause = bus_.hear(now_);
  if (!pause) return;
  wave_.put_off(*pause);
  script_.note_pause();
}

void Coordinator::on(Agent& agent, const std::string& name, const Hello& hello, Actions& actions) {
  const auto not_served = roster_.admit(agent, hello);
  if (!not_served) return lose(name, Whose::tool, not_served.error().message, actions);
  for (const PortId nic : *not_served) {
    script_.exclude(nic);
    leave_out(agent.expected.host, nic, "its agent was not started with this NIC");
  }
  const bool is_open = hello.engine == kAnyEngine && !script_.mixes_engines();
  if (!is_open || agent.state == AgentState::starting) return start_agent(agent, name, actions);
  agent.state = AgentState::offering;
  agent.offers = hello.offers;
  // It waits for the others: it is to know that it is not forgotten.
  actions.push_back(SendToAgent{name, Alive{}});
  choose_engine(actions);
}

void Coordinator::start_agent(Agent& agent, const std::string& name, Actions& actions) {
  agent.state = AgentState::starting;
  actions.push_back(SendToAgent{name, StartRun{secrets_, agent.expected.nics, roster_.targets()}});
}

void Coordinator::choose_engine(Actions& actions) {
  if (phase_ == Phase::done) return;
  const auto chosen = choose_engine_of_run(fabric_, roster_);
  if (!chosen) return;
  script_.note_engine(chosen->choice.engine, chosen->choice.why);
  for (const NotTested& each : chosen->left_out) {
    script_.exclude(*each.nic);
    leave_out(each.host, each.nic, each.why);
  }
  for (const std::string& name : chosen->starting) start_agent(*roster_.find(name), name, actions);
  for (const auto& [name, why] : chosen->useless) lose(name, Whose::tool, why, actions);
}

void Coordinator::on(Agent& agent, const std::string& name, const Ready& ready, Actions& actions) {
  if (agent.state != AgentState::starting) return;
  agent.state = AgentState::ready;
  agent.inventory = ready.inventory;
  const auto is_its_own = [&](PortId nic) {
    const std::string* owner = roster_.agent_of(nic);
    return owner && *owner == name;
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
  if (phase_ == Phase::gathering && roster_.all_gathered()) begin_run(actions);
}

void Coordinator::on(Agent& agent, const std::string& name, const TaskResult& result, Actions& actions) {
  const WorkItem* item = wave_.item(result.id, name);
  if (!item) return;
  if (result.error) {
    const NodeId host = fabric_.port(item->nic).node;
    if (result.of_tool)
      leave_out(host, item->nic, *result.error);
    else
      script_.blame({host, item->nic, Verdict::failed, std::nullopt, *result.error});
    script_.exclude(item->nic);
    return take(result.id, nullptr, actions);
  }
  if (result.answer.index() != item->work.index())
    return lose(name, Whose::tool, fmt::format("its agent answered something else while {}", script_.doing()),
                actions);
  if (const auto believed = check_answer(item->work, result.answer); !believed) {
    script_.blame({agent.expected.host, item->nic, Verdict::failed, std::nullopt, believed.error().message});
    script_.exclude(item->nic);
    return take(result.id, nullptr, actions);
  }
  take(result.id, &result.answer, actions);
}

void Coordinator::on(Agent&, const std::string&, const Alive&, Actions&) {}

void Coordinator::on(Agent&, const std::string& name, const Bye& bye, Actions& actions) {
  lose(name, Whose::tool, "its agent left: " + bye.why, actions);
}

void Coordinator::on(Agent&, const std::string& name, const PeerQuestion& question, Actions& actions) {
  if (auto passed = questions_.pass_on(name, question, roster_)) actions.push_back(std::move(*passed));
}

void Coordinator::on(Agent&, const std::string& name, const PeerReply& reply, Actions& actions) {
  if (auto passed = questions_.pass_on(name, reply, roster_)) actions.push_back(std::move(*passed));
}

void Coordinator::leave_out(NodeId host, std::optional<PortId> nic, const std::string& why) {
  if (!first_left_out_)
    first_left_out_ = fmt::format("{}: {}", nic ? fabric_.name_of_nic(*nic) : fabric_.name_of(host), why);
  script_.not_tested({host, nic, why});
}

void Coordinator::lose(const std::string& name, Whose whose, const std::string& why, Actions& actions) {
  Agent& agent = *roster_.find(name);
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
  if (phase_ == Phase::running && roster_.count(AgentState::ready) == 0 &&
      script_.cut_short(fmt::format("no agent is left; {}: {}", name, why)))
    return finish(actions);
  for (SendToAgent& reply : questions_.answer_for(name, roster_)) actions.push_back(std::move(reply));
  for (const TaskId task : wave_.tasks_of(name)) take(task, nullptr, actions);
  choose_engine(actions);
  if (phase_ == Phase::gathering && roster_.all_gathered()) begin_run(actions);
}

void Coordinator::take(TaskId task, const TaskAnswer* answer, Actions& actions) {
  const WorkItem* item = wave_.close(task);
  if (!item) return;
  script_.take(*item, answer);
  actions.push_back(progress());
  if (wave_.is_over()) begin_wave(actions);
}

Progress Coordinator::progress() const {
  if (phase_ == Phase::gathering)
    return {"gathering agents", roster_.count(AgentState::ready), roster_.agents().size(), script_.part()};
  return {script_.doing(), wave_.answered(), wave_.size(), script_.part(), script_.probes_sent()};
}

void Coordinator::begin_run(Actions& actions) {
  if (!roster_.anyone_took_part()) {
    if (first_left_out_)
      outcome_ = fail(ErrorKind::absent, "none of {} hosts took part; {}", roster_.agents().size(),
                      *first_left_out_);
    return finish(actions);
  }
  phase_ = Phase::running;
  bus_.begin();
  if (!script_.mixes_engines())
    for (const auto& [name, why] : of_other_engines(roster_)) lose(name, Whose::tool, why, actions);
  script_.meet(roster_.joined_hosts());
  begin_wave(actions);
}

void Coordinator::begin_wave(Actions& actions) {
  auto tasks = wave_.begin(script_.next_wave(), roster_, timing_.grace, now_);
  if (tasks.empty()) return finish(actions);
  for (SendToAgent& task : tasks) actions.push_back(std::move(task));
  actions.push_back(progress());
}

Coordinator::Actions Coordinator::stop_all() {
  phase_ = Phase::done;
  Actions actions;
  for (const auto& [name, agent] : roster_.agents())
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

Coordinator::Actions Coordinator::run_out() {
  Actions actions;
  if (phase_ == Phase::done) return actions;
  const bool gathers = phase_ == Phase::gathering;
  const auto given = timing_.limit ? timing_.limit->given : Nanoseconds(0);
  const auto why = fmt::format("the time given (--timeout {}) was over while {}", to_string(given),
                               gathers ? "gathering agents" : script_.doing());
  if (gathers)
    for (const auto& [name, agent] : roster_.agents())
      if (agent.state != AgentState::ready && agent.state != AgentState::lost)
        leave_out(agent.expected.host, std::nullopt,
                  agent.state == AgentState::awaited
                      ? "its agent did not come before the time given was over"
                      : "its agent was not ready when the time given was over");
  if (!script_.cut_short(why)) outcome_ = fail(ErrorKind::timeout, "{}", why);
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
    for (const auto& [name, agent] : roster_.agents())
      if (agent.state != AgentState::awaited && agent.state != AgentState::lost)
        actions.push_back(SendToAgent{name, Alive{}});
    actions.push_back(progress());  // time goes by though nobody answers
  }
  if (now >= gather_until_) give_up_latecomers(actions);
  judge_silence(actions);
  judge_overdue(actions);
  return actions;
}

void Coordinator::give_up_latecomers(Actions& actions) {
  for (const auto& [name, agent] : roster_.agents()) {
    if (agent.state == AgentState::awaited)
      lose(name, Whose::tool,
           agent.busy ? "its agent serves another run, and one at a time: try again when that is over"
                      : "its agent did not come",
           actions);
    const bool opens = now_ - agent.last_heard <= timing_.silence && now_ < gather_until_ + timing_.open;
    if (agent.state == AgentState::starting && !opens)
      lose(name, Whose::tool, "its agent did not get ready", actions);
  }
}

/// Judged a little later than the limit, when all that fell silent for the same reason are beyond it.
void Coordinator::judge_silence(Actions& actions) {
  if (phase_ != Phase::running) return;
  const auto judged = bus_.judge(roster_, now_);
  if (judged.bus_fell_silent) script_.note_pause();
  if (judged.bus_is_lost) {
    const auto why = fmt::format(
        "most agents fell silent at once while {}: the bus between them and this "
        "machine is lost",
        script_.doing());
    for (auto& action : lose_bus(why)) actions.push_back(std::move(action));
  }
  if (judged.bus_was_silent) {
    for (auto& [name, agent] : roster_.agents()) agent.last_heard = now_;
    wave_.put_off(*judged.bus_was_silent);
  }
  const auto& silent = judged.silent_agents;
  if (silent.empty()) return;
  const bool alone = silent.size() == 1;
  const auto why = alone ? fmt::format("its agent fell silent while {}", script_.doing())
                         : fmt::format("{} agents fell silent at once while {}, others did not",
                                       silent.size(), script_.doing());
  for (const std::string& name : silent) lose(name, alone ? Whose::host : Whose::tool, why, actions);
}

void Coordinator::judge_overdue(Actions& actions) {
  if (phase_ != Phase::running || bus_.is_silent()) return;
  const auto [late, alone] = wave_.overdue(roster_, bus_, now_);
  if (late.empty()) return;
  const auto* others = alone ? "" : ", nor did others";
  const auto why = fmt::format("its agent did not finish {} in time{}", script_.doing(), others);
  for (const std::string& name : late) lose(name, alone ? Whose::host : Whose::tool, why, actions);
}

}  // namespace weft::session
