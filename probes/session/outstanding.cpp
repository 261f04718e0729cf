#include "probes/session/outstanding.hpp"

#include <algorithm>

namespace weft::session {
namespace {

PeerReply nobody_answers(const PeerQuestion& question) {
  return {question.to, question.from, question.id, true, "no agent serves that NIC any more"};
}

bool serves(const AgentRoster& roster, const std::string& agent, PortId nic) {
  const std::string* serving = roster.working_agent_of(nic);
  return serving && *serving == agent;
}

}  // namespace

std::vector<SendToAgent> TaskWave::begin(std::vector<WorkItem> items, const AgentRoster& roster,
                                         Nanoseconds grace, TimePoint now) {
  items_ = std::move(items);
  late_.clear();
  std::vector<SendToAgent> tasks;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const WorkItem& item = items_[i];
    const TaskId id(++last_task_);
    const std::string& agent = *roster.agent_of(item.nic);
    outstanding_.emplace(id, Asked{i, agent, now, now + item.limit + grace});
    tasks.push_back({agent, Task{id, item.nic, item.limit, item.work}});
  }
  return tasks;
}

const WorkItem* TaskWave::item(TaskId task, const std::string& agent) const {
  const auto found = outstanding_.find(task);
  return found == outstanding_.end() || found->second.agent != agent ? nullptr : &items_[found->second.item];
}

std::vector<TaskId> TaskWave::tasks_of(const std::string& agent) const {
  std::vector<TaskId> tasks;
  for (const auto& [task, asked] : outstanding_)
    if (asked.agent == agent) tasks.push_back(task);
  return tasks;
}

const WorkItem* TaskWave::close(TaskId task) {
  const auto found = outstanding_.find(task);
  if (found == outstanding_.end()) return nullptr;
  const WorkItem* item = &items_[found->second.item];
  outstanding_.erase(found);
  return item;
}

void TaskWave::put_off(Nanoseconds gap) {
  for (auto& [task, asked] : outstanding_) asked.deadline += gap;
}

TaskWave::Overdue TaskWave::overdue(const AgentRoster& roster, const BusSilence& bus, TimePoint now) {
  std::set<std::string> heard;
  bool is_time = false;
  bool over_bus = false;  // that lost some of what it carried, perhaps
  for (const auto& [task, asked] : outstanding_) {
    if (now <= asked.deadline) continue;
    late_.insert(asked.agent);
    if (roster.agents().at(asked.agent).last_heard > asked.deadline) heard.insert(asked.agent);
    is_time |= now > asked.deadline + kAtOnce;
    over_bus |= bus.was_silent_since(asked.sent);
  }
  if (!is_time) return {};
  return {{heard.begin(), heard.end()}, late_.size() == 1 && !over_bus};
}

std::optional<SendToAgent> PeerQuestions::pass_on(const std::string& agent, const PeerQuestion& question,
                                                  const AgentRoster& roster) {
  if (!serves(roster, agent, question.from)) return std::nullopt;
  const std::string* asked = roster.working_agent_of(question.to);
  if (!asked) return SendToAgent{agent, nobody_answers(question)};
  // A NIC asks one question after the other: who asks again waits for its last no longer.
  std::erase_if(unanswered_, [&](const PeerQuestion& earlier) { return earlier.from == question.from; });
  unanswered_.push_back({question.from, question.to, question.id, {}});
  return SendToAgent{*asked, question};
}

std::optional<SendToAgent> PeerQuestions::pass_on(const std::string& agent, const PeerReply& reply,
                                                  const AgentRoster& roster) {
  if (!serves(roster, agent, reply.from)) return std::nullopt;
  std::erase(unanswered_, PeerQuestion{reply.to, reply.from, reply.id, {}});
  const std::string* asking = roster.working_agent_of(reply.to);
  return asking ? std::optional(SendToAgent{*asking, reply}) : std::nullopt;
}

std::vector<SendToAgent> PeerQuestions::answer_for(const std::string& lost, const AgentRoster& roster) {
  std::vector<SendToAgent> replies;
  std::erase_if(unanswered_, [&](const PeerQuestion& question) {
    if (*roster.agent_of(question.to) != lost) return false;
    if (const std::string* asking = roster.working_agent_of(question.from))
      replies.push_back({*asking, nobody_answers(question)});
    return true;
  });
  return replies;
}

}  // namespace weft::session
