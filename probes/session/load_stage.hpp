// LoadStage: runs load rounds one after the other and asks after each what arrived.
#pragma once

#include <map>

#include "probes/plan/load_plan.hpp"
#include "probes/session/stage.hpp"

namespace weft {

class LoadStage : public Stage {
 public:
  /// `share`: of the rate a flow has a right to; 1 for full load.
  LoadStage(SweepState& state, std::vector<LoadRound> rounds, std::uint32_t first_round, double share = 1.0)
      : state_(&state), rounds_(std::move(rounds)), first_round_(first_round), share_(share) {}
  std::string_view name() const override { return "loading"; }
  std::vector<WorkItem> next_wave() override;
  void take(const WorkItem& item, const TaskAnswer* answer) override;

 private:
  std::vector<WorkItem> flow_work(const LoadRound& round);
  std::vector<WorkItem> receipt_work(const LoadRound& round);
  void conclude(const LoadRound& round);
  void note_corruption(PortId nic, const PlannedFlow& flow, const std::string& what);
  void note_death(PortId nic, const PlannedFlow& flow, const std::string& why);

  SweepState* state_;
  std::vector<LoadRound> rounds_;
  std::uint32_t first_round_;
  double share_;
  std::size_t wave_ = 0;  // two a round: flows, receipts
  BatchId batch_;
  std::map<PortId, std::vector<std::size_t>> by_nic_;  // spec index -> index into the round
  std::map<PortId, std::vector<FlowTally>> tallies_;
  std::map<PortId, std::vector<ReceivedTally>> receipts_;
};

}  // namespace weft
