// AgentEngines: by what the standing agents of a fabric probe, as they say themselves, and hence which NICs
// can probe which: both ends must have the same engine, and of queue pairs each must be known to the other.
// Pure; one thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "probes/watch/assignment_json.hpp"
#include "probes/watch/standing_plan.hpp"

namespace weft::watch {

class AgentEngines {
 public:
  /// `nics`: of the hosts whose agents may come. The fabric outlives it.
  AgentEngines(const Fabric& fabric, const std::vector<datapath::RunNic>& nics);

  struct News {
    std::map<PortId, packet::UdPair> moved;  // NICs whose queue pair is another one than before
    bool can_probe_others = false;           // other NICs than before can probe each other
  };
  /// What the agent of `host` said. What it says of NICs that are not its own is passed over.
  News hear(std::string_view host, const AgentHello& hello);

  /// An agent that did not say its engine, or is not heard yet, has that of whom it is to probe; never queue
  /// pairs.
  bool can_probe(PortId from, PortId to) const;
  /// With the queue pairs that are known.
  void add_pairs(StandingEnds& ends) const;
  /// The plan without the streams between NICs that cannot probe each other.
  StandingPlan only_probed(StandingPlan plan, const PlanLimits& limits) const;
  /// How many pairs of NICs these are in a plan, and why, in words; empty: none.
  std::string not_probed(const StandingPlan& plan) const;

 private:
  const std::string& engine_of(PortId nic) const;
  std::string why_not(PortId from, PortId to) const;

  const Fabric* fabric_;
  std::map<NodeId, std::vector<datapath::RunNic>> nics_;  // by host
  std::map<NodeId, std::string> engines_;
  std::map<PortId, packet::UdPair> pairs_;
};

}  // namespace weft::watch
