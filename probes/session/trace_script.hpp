// TraceScript: traces labels between two NICs, once.
#pragma once

#include "probes/plan/trace_plan.hpp"
#include "probes/session/map_stage.hpp"
#include "probes/session/script.hpp"

namespace weft {

class TraceScript final : public Script {
 public:
  TraceScript(const Fabric& fabric, const AddressBook& addresses, const SweepOptions& options, RunId run,
              TracePlan plan);
  std::vector<WorkItem> next_wave() override { return stage_.next_wave(); }
  void take(const WorkItem& item, const TaskAnswer* answer) override { stage_.take(item, answer); }
  void exclude(PortId nic) override { state_.out.insert(nic); }
  void blame(HostEvidence evidence) override { state_.observations.hosts.push_back(std::move(evidence)); }
  std::string_view doing() const override { return stage_.name(); }

  const PathLearner& learner() const { return state_.learner; }
  /// Hosts that could not take part, and why.
  const std::vector<HostEvidence>& troubles() const { return state_.observations.hosts; }

 private:
  SweepState state_;
  MapStage stage_;
};

}  // namespace weft
