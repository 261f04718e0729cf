// TraceScript: traces labels between two NICs, once; first, where that is asked for, connects queue pairs
// with default settings and asks which labels they use, to trace those too.
#pragma once

#include "probes/plan/trace_plan.hpp"
#include "probes/session/map_stage.hpp"
#include "probes/session/script.hpp"

namespace weft {

class TraceScript final : public Script {
 public:
  TraceScript(const Fabric& fabric, const AddressBook& addresses, const SweepOptions& options, RunId run,
              TracePlan plan, std::uint32_t queue_pairs = 0);
  std::vector<WorkItem> next_wave() override;
  void take(const WorkItem& item, const TaskAnswer* answer) override;
  void exclude(PortId nic) override { state_.out.insert(nic); }
  void blame(HostEvidence evidence) override { state_.observations.hosts.push_back(std::move(evidence)); }
  std::string_view doing() const override { return "tracing"; }

  const PathLearner& learner() const { return state_.learner; }
  /// What the device chose for its queue pairs, one each.
  const std::vector<PathLabel>& chosen() const { return chosen_; }
  /// Hosts that could not take part, and why.
  const std::vector<HostEvidence>& troubles() const { return state_.observations.hosts; }

 private:
  WorkItem queue_pair_work();

  SweepState state_;
  TracePlan plan_;
  std::uint32_t queue_pairs_;  // still to be asked for
  std::vector<PathLabel> chosen_;
  std::optional<MapStage> stage_;
};

}  // namespace weft
