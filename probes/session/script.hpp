// Script: what a coordinator runs over its agents: waves of work out, answers in. Pure; knows no clock, bus
// or agent.
#pragma once

#include <string_view>
#include <vector>

#include "probes/hostcheck/host_check.hpp"
#include "probes/session/stage.hpp"

namespace weft {

class Script {
 public:
  virtual ~Script() = default;
  /// The next wave of work; empty: the script is over.
  virtual std::vector<WorkItem> next_wave() = 0;
  /// The answer to one item of the current wave; null: failed or given up.
  virtual void take(const WorkItem& item, const TaskAnswer* answer) = 0;
  /// This NIC takes no part any more.
  virtual void exclude(PortId nic) = 0;
  /// The hosts that joined and told what they have; called once, before the first wave.
  virtual void meet(const std::vector<JoinedHost>&) {}
  /// What the engine of a NIC goes by, in words.
  virtual void note_use(PortId, std::string_view) {}
  /// What went wrong with a host, apart from what the work shows.
  virtual void blame(HostEvidence evidence) = 0;
  /// What is being done now, for a progress line.
  virtual std::string_view doing() const = 0;
};

}  // namespace weft
