// What agents were asked and have not answered: TaskWave, the tasks of one wave of a script; PeerQuestions,
// what engines of NICs ask each other, which the coordinator passes on. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "probes/session/agent_roster.hpp"
#include "probes/session/bus_silence.hpp"
#include "probes/session/messages.hpp"
#include "probes/session/stage.hpp"

namespace weft::session {

struct SendToAgent {
  std::string host;  // its agent's name
  ToAgent message;
};

class TaskWave {
 public:
  /// The next wave, after one that is over: the tasks to send. An agent may take `grace` longer than the
  /// limit of an item, for its answer to travel.
  std::vector<SendToAgent> begin(std::vector<WorkItem> items, const AgentRoster& roster, Nanoseconds grace,
                                 TimePoint now);
  std::size_t size() const { return items_.size(); }
  std::size_t answered() const { return items_.size() - outstanding_.size(); }
  bool is_over() const { return outstanding_.empty(); }
  /// What this task asks; null: nothing that this agent has still to answer.
  const WorkItem* item(TaskId task, const std::string& agent) const;
  /// What this agent has still to answer.
  std::vector<TaskId> tasks_of(const std::string& agent) const;
  /// Its answer has come, or none will. Valid until the next wave; null: that was known.
  const WorkItem* close(TaskId task);
  /// Nothing was heard for so long.
  void put_off(Nanoseconds gap);

  struct Overdue {
    std::vector<std::string> agents;  // to be given up
    bool alone = false;               // this one is late for a reason of its own
  };
  /// Only of agents that were heard since their deadline (what they said before has come too), a little
  /// later.
  Overdue overdue(const AgentRoster& roster, const BusSilence& bus, TimePoint now);

 private:
  struct Asked {
    std::size_t item;
    std::string agent;
    TimePoint sent;
    TimePoint deadline;
  };
  std::vector<WorkItem> items_;
  std::map<TaskId, Asked> outstanding_;
  std::set<std::string> late_;  // agents, in this wave
  std::uint32_t last_task_ = 0;
};

class PeerQuestions {
 public:
  /// To whom this goes on: the agent of the other NIC, or back to `agent` if nobody serves that any more.
  /// None: `agent` may not speak for that NIC.
  std::optional<SendToAgent> pass_on(const std::string& agent, const PeerQuestion& question,
                                     const AgentRoster& roster);
  std::optional<SendToAgent> pass_on(const std::string& agent, const PeerReply& reply,
                                     const AgentRoster& roster);
  /// An agent is lost: what those are told who wait for its replies.
  std::vector<SendToAgent> answer_for(const std::string& lost, const AgentRoster& roster);

 private:
  std::vector<PeerQuestion> unanswered_;  // passed on, without their texts; at most one of each NIC
};

}  // namespace weft::session
