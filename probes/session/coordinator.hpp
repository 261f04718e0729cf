// Coordinator: runs a Script (a sweep, a trace) over agents, one per host. A state machine: messages and the
// time go in, actions come out; it knows no bus and no clock. Agents gather, get their NICs' ids and the
// run's key, work wave by wave, and are told to stop. A host whose agent never comes, falls silent, or does
// not finish in time is a finding, and the rest goes on without it.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "probes/session/script.hpp"

namespace weft {

using TimePoint = std::chrono::steady_clock::time_point;

struct CoordinatorTiming {
  Nanoseconds gather = std::chrono::seconds(10);  // for all agents to be ready
  Nanoseconds silence = std::chrono::seconds(5);  // five missed signs of life: a dead agent
  Nanoseconds grace = std::chrono::seconds(2);    // beyond a task's own limit, for its answer to travel
};

/// What is expected of one host: its NICs by the name of their interface.
struct ExpectedHost {
  NodeId host;
  std::vector<NicAssignment> nics;
};

struct SendToAgent {
  std::string host;
  ToAgent message;
};
/// For a progress line: `done` of `total` pieces of the current wave.
struct Progress {
  std::string_view doing;
  std::size_t done = 0;
  std::size_t total = 0;
};
struct AllDone {};
using CoordinatorAction = std::variant<SendToAgent, Progress, AllDone>;

class Coordinator {
 public:
  /// `fabric` and `script` outlive it. NICs of the fabric that no host is expected to serve are excluded at
  /// once.
  Coordinator(const Fabric& fabric, Script& script, RunSecrets secrets, std::vector<ExpectedHost> hosts,
              CoordinatorTiming timing = {});

  /// Agents of another version are given up: their messages may mean something else. Call before start.
  void expect_version(std::string version) { version_ = std::move(version); }

  /// The addresses of the run's NICs: agents refuse tasks that send to another. Call before start.
  void name_targets(std::vector<IpAddress> targets) { targets_ = std::move(targets); }

  using Actions = std::vector<CoordinatorAction>;
  /// Call first.
  Actions start(TimePoint now);
  Actions on_message(const std::string& host, const ToCoordinator& message, TimePoint now);
  /// The agent of this host is of no use to this run: it ended, or speaks what cannot be read.
  Actions give_up(const std::string& host, const std::string& why, TimePoint now);
  /// Call at least ten times a second.
  Actions on_tick(TimePoint now);

  /// Tells every agent to stop; nothing more is done.
  Actions stop_all();

  bool is_done() const { return phase_ == Phase::done; }

 private:
  enum class Phase { gathering, running, done };
  enum class AgentState { awaited, starting, ready, lost };
  struct Agent {
    ExpectedHost expected;
    AgentState state = AgentState::awaited;
    TimePoint last_heard{};
    std::optional<HostInventory> inventory = std::nullopt;
  };
  struct Outstanding {
    std::size_t item;
    std::string host;
    TimePoint deadline;
  };

  void on(Agent& agent, const std::string& name, const Hello& hello, Actions& actions);
  void on(Agent& agent, const std::string& name, const Ready& ready, Actions& actions);
  void on(Agent& agent, const std::string& name, const TaskResult& result, Actions& actions);
  void on(Agent& agent, const std::string& name, const Alive& alive, Actions& actions);
  void on(Agent& agent, const std::string& name, const Bye& bye, Actions& actions);
  void on(Agent& agent, const std::string& name, const PeerQuestion& question, Actions& actions);
  void on(Agent& agent, const std::string& name, const PeerReply& reply, Actions& actions);
  /// The host that serves a NIC, if its agent is at work.
  const std::string* working_host_of(PortId nic) const;
  void lose(const std::string& name, const std::string& why, Actions& actions);
  /// Nobody is left to answer what the NICs of this host were asked.
  void answer_for(const std::string& name, Actions& actions);
  void take(TaskId task, const TaskAnswer* answer, Actions& actions);
  bool all_gathered() const;
  std::vector<JoinedHost> joined_hosts() const;
  void begin_wave(Actions& actions);
  void finish(Actions& actions);

  const Fabric& fabric_;
  RunSecrets secrets_;
  CoordinatorTiming timing_;
  Script& script_;
  std::string version_;  // empty: any
  std::vector<IpAddress> targets_;
  std::map<std::string, Agent> agents_;
  std::map<PortId, std::string> host_of_nic_;
  Phase phase_ = Phase::gathering;
  TimePoint now_{};
  TimePoint gather_until_{};
  TimePoint last_alive_sent_{};
  std::vector<WorkItem> wave_;
  std::map<TaskId, Outstanding> outstanding_;
  std::vector<PeerQuestion> unanswered_;  // passed on, without their texts; at most one of each NIC
  std::uint32_t last_task_ = 0;
};

}  // namespace weft
