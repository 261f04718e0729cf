// Coordinator: runs a Script (a sweep, a trace) over agents, as a rule one per host. A state machine:
// messages and the time go in, actions come out; it knows no bus and no clock. Agents gather, get their NICs'
// ids and the run's key, work wave by wave, and are told to stop. A host whose agent falls silent or does not
// finish while the others do is a finding; one that takes no part for another reason (no agent came, it ended
// with its own words, it speaks another version) is not tested. The rest goes on without them. When most fall
// silent at once it is the bus between: nobody is blamed, and if it stays so the run ends with what is known.
// Who takes part is AgentRoster's to know, what is still to be answered TaskWave's and PeerQuestions', who is
// silent BusSilence's; here is what follows from it for script and agents.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "probes/session/agent_roster.hpp"
#include "probes/session/bus_silence.hpp"
#include "probes/session/outstanding.hpp"
#include "probes/session/script.hpp"

namespace weft::session {

/// When a run ends, done or not.
struct TimeLimit {
  TimePoint until;
  Nanoseconds given{};  // for its words
};

struct CoordinatorTiming {
  Nanoseconds gather = std::chrono::seconds(10);  // for all agents to come
  /// Beyond that, for those that came and live to be ready: devices open in milliseconds, memory of GPUs in
  /// seconds; what takes this long hangs.
  Nanoseconds open = std::chrono::seconds(60);
  Nanoseconds silence = std::chrono::seconds(5);  // five missed signs of life: a dead agent
  Nanoseconds grace = std::chrono::seconds(2);    // beyond a task's own limit, for its answer to travel
  /// A bus over which nothing came for so long is lost: agents end by themselves after 10 s
  /// (AgentTiming::coordinator_silence).
  Nanoseconds bus_silence = std::chrono::seconds(12);
  std::optional<TimeLimit> limit = std::nullopt;
};

/// For a progress line: `done` of `total` pieces of the current wave, and which part of the whole that is.
struct Progress {
  std::string_view doing;
  std::size_t done = 0;
  std::size_t total = 0;
  std::optional<RunPart> part = std::nullopt;
  std::uint64_t probes = 0;  // sent so far
};
struct AllDone {};
using CoordinatorAction = std::variant<SendToAgent, Progress, AllDone>;

class Coordinator {
 public:
  /// `fabric` and `script` outlive it. NICs of the fabric that no host is expected to serve are excluded at
  /// once.
  Coordinator(const Fabric& fabric, Script& script, packet::RunSecrets secrets,
              std::vector<ExpectedHost> hosts, CoordinatorTiming timing = {});

  /// The run's NICs and where they are: agents send to no others. Call before start.
  void name_targets(std::vector<datapath::RunNic> targets) { roster_.name_targets(std::move(targets)); }

  /// By this engine the NICs of the run are to send: agents that others started with another one are not
  /// tested. Call before start.
  void require_engine(std::string_view engine) { roster_.require_engine(engine); }

  using Actions = std::vector<CoordinatorAction>;
  /// Call first.
  Actions start(TimePoint now);
  Actions on_message(const std::string& host, const ToCoordinator& message, TimePoint now);
  /// The agent of this host speaks of another run: if it comes to no other before time, that is why.
  void note_busy(const std::string& host);
  /// The agent of this host is of no use to this run: it ended, or speaks what cannot be read. That says
  /// nothing of the host.
  Actions give_up(const std::string& host, const std::string& why, TimePoint now);
  /// Call at least ten times a second, after all messages that have come: silence is judged here. Time in
  /// which nothing was called (this process was stopped) counts for nobody.
  Actions on_tick(TimePoint now);
  /// The bus is lost for good.
  Actions lose_bus(const std::string& why);

  /// The time given is over: the run ends with what is known, as it does by itself at the first tick beyond
  /// its limit.
  Actions run_out();

  /// Tells every agent to stop; nothing more is done.
  Actions stop_all();

  RunId run() const { return secrets_.run; }
  /// Its agent has not been heard of yet, nor given up.
  bool awaits(const std::string& host) const {
    const auto* agent = roster_.find(host);
    return agent && agent->state == AgentState::awaited;
  }
  /// What it says may be of use.
  bool listens_to(const std::string& host) const {
    const auto* agent = roster_.find(host);
    return agent && agent->state != AgentState::lost;
  }
  bool is_done() const { return phase_ == Phase::done; }
  /// Why the run came to nothing: no host took part, or the bus was lost before anything was of use.
  const Result<void>& outcome() const { return outcome_; }

 private:
  enum class Phase { gathering, running, done };
  enum class Whose { host, tool };
  using Agent = AgentRoster::Agent;
  using AgentState = AgentRoster::State;

  void on(Agent& agent, const std::string& name, const Hello& hello, Actions& actions);
  void on(Agent& agent, const std::string& name, const Ready& ready, Actions& actions);
  void on(Agent& agent, const std::string& name, const TaskResult& result, Actions& actions);
  void on(Agent& agent, const std::string& name, const Alive& alive, Actions& actions);
  void on(Agent& agent, const std::string& name, const Bye& bye, Actions& actions);
  void on(Agent& agent, const std::string& name, const PeerQuestion& question, Actions& actions);
  void on(Agent& agent, const std::string& name, const PeerReply& reply, Actions& actions);
  void start_agent(Agent& agent, const std::string& name, Actions& actions);
  /// All that are to come have told what they can send by, or are given up: they start.
  void choose_engine(Actions& actions);
  void advance(TimePoint now);
  void note_heard(Agent& agent);
  void give_up_latecomers(Actions& actions);
  void judge_silence(Actions& actions);
  void judge_overdue(Actions& actions);
  void lose(const std::string& name, Whose whose, const std::string& why, Actions& actions);
  void leave_out(NodeId host, std::optional<PortId> nic, const std::string& why);
  void take(TaskId task, const TaskAnswer* answer, Actions& actions);
  void begin_run(Actions& actions);
  void begin_wave(Actions& actions);
  Progress progress() const;
  void finish(Actions& actions);

  const Fabric& fabric_;
  packet::RunSecrets secrets_;
  CoordinatorTiming timing_;
  Script& script_;
  AgentRoster roster_;
  TaskWave wave_;
  PeerQuestions questions_;
  BusSilence bus_;
  Phase phase_ = Phase::gathering;
  TimePoint now_{};
  TimePoint gather_until_{};
  TimePoint last_alive_sent_{};
  std::optional<std::string> first_left_out_;  // who was not tested, with why
  Result<void> outcome_;
};

}  // namespace weft::session
