// AgentRoster: who takes part in a run. Of each agent that is expected: whether it has come, is ready or
// lost, when it was heard last, by which NICs of those that the fabric file has, and by which engine it
// sends. It judges who may take part; what follows from that for agents and script is the coordinator's.
// Pure.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/diagnosis/host/host_check.hpp"
#include "probes/session/messages.hpp"
#include "topology/model/fabric.hpp"

namespace weft::session {

using TimePoint = std::chrono::steady_clock::time_point;

/// What is expected of one agent: the NICs of its host that it serves, by the name of their interface.
struct ExpectedHost {
  NodeId host;
  std::vector<NicAssignment> nics;
  std::string agent = {};  // its name on the bus; empty: its host's. A host with several has them named.
};

class AgentRoster {
 public:
  enum class State { awaited, offering, starting, ready, lost };
  struct Agent {
    ExpectedHost expected;
    State state = State::awaited;
    TimePoint last_heard{};
    std::optional<HostInventory> inventory = std::nullopt;
    bool took_part = false;             // it told of its NICs, or serves one
    bool busy = false;                  // with another run, as far as was heard
    std::string engine = {};            // by which it sends, as it says
    std::vector<NicOffer> offers = {};  // what it can send by, where the run is to say
  };
  using Agents = std::map<std::string, Agent>;

  AgentRoster(const Fabric& fabric, std::vector<ExpectedHost> hosts);

  /// The run's NICs and where they are.
  void name_targets(std::vector<datapath::RunNic> targets) { targets_ = std::move(targets); }
  const std::vector<datapath::RunNic>& targets() const { return targets_; }
  /// By this engine, or one of its kind, the NICs of the run are to send.
  void require_engine(std::string_view engine) { required_engine_ = engine; }

  Agents& agents() { return agents_; }
  const Agents& agents() const { return agents_; }
  /// Null: nobody expects it.
  Agent* find(const std::string& name);
  const Agent* find(const std::string& name) const;
  std::size_t count(State state) const;
  /// Each is ready or lost.
  bool all_gathered() const { return count(State::ready) + count(State::lost) == agents_.size(); }
  bool anyone_took_part() const;
  /// The agent that a NIC was given to, whatever became of it; null: none.
  const std::string* agent_of(PortId nic) const;
  /// The same, if that agent is at work.
  const std::string* working_agent_of(PortId nic) const;
  /// Those that told what they have and are not lost.
  std::vector<diagnosis::JoinedHost> joined_hosts() const;

  /// Whether an agent that says this may take part; it keeps those of its NICs that it was started with, by
  /// its own names for them. The others; error: it may not, and why.
  Result<std::vector<PortId>> admit(Agent& agent, const Hello& hello) const;

 private:
  Agents agents_;
  std::map<PortId, std::string> agent_of_nic_;
  std::vector<datapath::RunNic> targets_;
  std::string required_engine_;  // empty: any
};

}  // namespace weft::session
