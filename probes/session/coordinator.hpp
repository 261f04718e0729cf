// Coordinator: runs a Script (a sweep, a trace) over agents, as a rule one per host. A state machine:
// messages and the time go in, actions come out; it knows no bus and no clock. Agents gather, get their NICs'
// ids and the run's key, work wave by wave, and are told to stop. A host whose agent falls silent or does not
// finish while the others do is a finding; one that takes no part for another reason (no agent came, it ended
// with its own words, it speaks another version) is not tested. The rest goes on without them. When most fall
// silent at once it is the bus between: nobody is blamed, and if it stays so the run ends with what is known.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "probes/session/script.hpp"

namespace weft::session {

using TimePoint = std::chrono::steady_clock::time_point;

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

/// What is expected of one agent: the NICs of its host that it serves, by the name of their interface.
struct ExpectedHost {
  NodeId host;
  std::vector<NicAssignment> nics;
  std::string agent = {};  // its name on the bus; empty: its host's. A host with several has them named.
};

struct SendToAgent {
  std::string host;
  ToAgent message;
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
  void name_targets(std::vector<datapath::RunNic> targets) { targets_ = std::move(targets); }

  /// By this engine the NICs of the run are to send: agents that others started with another one are not
  /// tested. Call before start.
  void require_engine(std::string_view engine) { required_engine_ = engine; }

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
    const auto agent = agents_.find(host);
    return agent != agents_.end() && agent->second.state == AgentState::awaited;
  }
  /// What it says may be of use.
  bool listens_to(const std::string& host) const {
    const auto agent = agents_.find(host);
    return agent != agents_.end() && agent->second.state != AgentState::lost;
  }
  bool is_done() const { return phase_ == Phase::done; }
  /// Why the run came to nothing: no host took part, or the bus was lost before anything was of use.
  const Result<void>& outcome() const { return outcome_; }

 private:
  enum class Phase { gathering, running, done };
  enum class AgentState { awaited, offering, starting, ready, lost };
  struct Agent {
    ExpectedHost expected;
    AgentState state = AgentState::awaited;
    TimePoint last_heard{};
    std::optional<HostInventory> inventory = std::nullopt;
    bool took_part = false;             // it told of its NICs, or serves one
    bool busy = false;                  // with another run, as far as was heard
    std::string engine = {};            // by which it sends, as it says
    std::vector<NicOffer> offers = {};  // what it can send by, where the run is to say
  };
  struct Outstanding {
    std::size_t item;
    std::string host;
    TimePoint sent;
    TimePoint deadline;
  };
  enum class Whose { host, tool };

  void on(Agent& agent, const std::string& name, const Hello& hello, Actions& actions);
  void on(Agent& agent, const std::string& name, const Ready& ready, Actions& actions);
  void on(Agent& agent, const std::string& name, const TaskResult& result, Actions& actions);
  void on(Agent& agent, const std::string& name, const Alive& alive, Actions& actions);
  void on(Agent& agent, const std::string& name, const Bye& bye, Actions& actions);
  void on(Agent& agent, const std::string& name, const PeerQuestion& question, Actions& actions);
  void on(Agent& agent, const std::string& name, const PeerReply& reply, Actions& actions);
  void start_agent(Agent& agent, const std::string& name, Actions& actions);
  /// All that are to come have told what they can send by, or are given up: they start.
  void choose_engine_of_run(Actions& actions);
  // Agents that others started may have other NICs than the fabric file says, call them otherwise, and send
  // by different engines.
  bool meet_nics(Agent& agent, const Hello& hello);
  bool sends_as_required(const Hello& hello) const;
  void keep_one_engine(Actions& actions);
  /// The host that serves a NIC, if its agent is at work.
  const std::string* working_host_of(PortId nic) const;
  void advance(TimePoint now);
  /// What happened in between is not known to this process: all that waits waits longer.
  void move_deadlines(TimePoint::duration gap);
  void note_heard(Agent& agent);
  void give_up_latecomers(Actions& actions);
  void judge_silence(Actions& actions);
  void await_bus(bool is_silent, Actions& actions);
  void judge_overdue(Actions& actions);
  void lose(const std::string& name, Whose whose, const std::string& why, Actions& actions);
  void leave_out(NodeId host, std::optional<PortId> nic, const std::string& why);
  bool anyone_at_work() const;
  bool anyone_took_part() const;
  /// Nobody is left to answer what the NICs of this host were asked.
  void answer_for(const std::string& name, Actions& actions);
  void take(TaskId task, const TaskAnswer* answer, Actions& actions);
  bool all_gathered() const;
  std::vector<diagnosis::JoinedHost> joined_hosts() const;
  void begin_wave(Actions& actions);
  Progress progress() const;
  void finish(Actions& actions);

  const Fabric& fabric_;
  packet::RunSecrets secrets_;
  CoordinatorTiming timing_;
  Script& script_;
  std::vector<datapath::RunNic> targets_;
  std::string required_engine_;  // empty: any
  std::map<std::string, Agent> agents_;
  std::map<PortId, std::string> host_of_nic_;
  Phase phase_ = Phase::gathering;
  TimePoint now_{};
  TimePoint gather_until_{};
  TimePoint last_alive_sent_{};
  std::vector<WorkItem> wave_;
  std::map<TaskId, Outstanding> outstanding_;
  std::set<std::string> overdue_;         // hosts, in this wave
  std::vector<PeerQuestion> unanswered_;  // passed on, without their texts; at most one of each NIC
  std::uint32_t last_task_ = 0;
  TimePoint last_heard_{};  // of anyone
  std::optional<TimePoint> bus_silent_since_;
  std::optional<TimePoint> bus_was_silent_;  // last
  std::vector<std::string> left_out_;        // who was not tested, with why
  Result<void> outcome_;
};

}  // namespace weft::session
