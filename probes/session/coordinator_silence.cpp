// The coordinator's judgement of who is silent or late: a host, several for one reason, or the bus.
#include "probes/session/coordinator.hpp"

#include <algorithm>

namespace weft::session {
namespace {

/// Two signs of life that did not come, and a little.
constexpr auto kQuiet = std::chrono::milliseconds(2500);
/// Agents that fell silent or late for one reason did so within a sign of life of each other, and a little.
constexpr auto kAtOnce = std::chrono::milliseconds(1500);

}  // namespace

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

Coordinator::Actions Coordinator::run_out() {
  Actions actions;
  if (phase_ == Phase::done) return actions;
  const bool gathers = phase_ == Phase::gathering;
  const auto given = timing_.limit ? timing_.limit->given : Nanoseconds(0);
  const auto why = fmt::format("the time given (--timeout {}) was over while {}", to_string(given),
                               gathers ? "gathering agents" : script_.doing());
  if (gathers)
    for (const auto& [name, agent] : agents_)
      if (agent.state != AgentState::ready && agent.state != AgentState::lost)
        leave_out(agent.expected.host, std::nullopt,
                  agent.state == AgentState::awaited
                      ? "its agent did not come before the time given was over"
                      : "its agent was not ready when the time given was over");
  if (!script_.cut_short(why)) outcome_ = fail(ErrorKind::timeout, "{}", why);
  finish(actions);
  return actions;
}

void Coordinator::note_busy(const std::string& host) {
  if (const auto agent = agents_.find(host); agent != agents_.end()) agent->second.busy = true;
}

void Coordinator::give_up_latecomers(Actions& actions) {
  for (const auto& [name, agent] : agents_) {
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
