// LoadStage: runs load rounds one after the other and asks after each what arrived. Over queue pairs, several
// may share the rate and the path of a flow, and who receives may be the one to post (reads).
#pragma once

#include <algorithm>
#include <map>

#include "probes/plan/load_plan.hpp"
#include "probes/session/contradictions.hpp"
#include "probes/session/probes_beside.hpp"

namespace weft::session {

class LoadStage : public Stage {
 public:
  /// `share`: of the rate a flow has a right to; 1 for full load. `keeps_results`: what each flow got is a
  /// result of the run.
  LoadStage(const SweepInputs& in, SweepResults& results, std::vector<plan::LoadRound> rounds,
            std::uint32_t first_round, double share = 1.0, bool keeps_results = false)
      : in_(&in),
        results_(&results),
        rounds_(std::move(rounds)),
        first_round_(first_round),
        share_(share),
        keeps_results_(keeps_results),
        beside_(in, results) {}
  std::string_view name() const override { return "loading"; }
  std::size_t waves_left() const override { return 2 * rounds_.size() - std::min(wave_, 2 * rounds_.size()); }
  std::vector<WorkItem> next_wave() override;
  void take(const WorkItem& item, const TaskAnswer* answer) override;

 private:
  struct Gathered;
  /// One spec of a request: which flow of the round it serves, and by which label.
  struct Posted {
    std::size_t flow = 0;
    PathLabel label;
  };
  bool reads() const { return in_->options.flow_options.operation == FlowOperation::read; }
  PortId poster(const plan::PlannedFlow& flow) const { return reads() ? flow.pair.dst : flow.pair.src; }
  PortId peer(const plan::PlannedFlow& flow) const { return reads() ? flow.pair.src : flow.pair.dst; }
  /// Of the load's own rounds; who reads posts at the far end of the flow's path. The times of guests are
  /// their hosts'.
  bool probes_beside() const {
    return keeps_results_ && !reads() && in_->options.round_trips_count &&
           in_->options.probes_beside_flows > 0;
  }
  std::vector<PathLabel> labels_for(const plan::PlannedFlow& flow) const;
  std::vector<WorkItem> flow_work(const plan::LoadRound& round);
  std::vector<WorkItem> receipt_work(const plan::LoadRound& round);
  const datapath::ReceivedTally* receipt_of(const plan::PlannedFlow& flow, std::uint32_t spec) const;
  void conclude(const plan::LoadRound& round);
  void begin_on_clock();
  void gather(Gathered& into, const plan::PlannedFlow& flow, const datapath::FlowTally& tally,
              PathLabel label);
  void observe(const plan::PlannedFlow& flow, Gathered gathered, std::uint32_t round);
  void note_not_sent(PortId nic, const plan::LoadRound& round);
  void note_death(const plan::PlannedFlow& flow, PathLabel label, const std::string& why);

  const SweepInputs* in_;
  SweepResults* results_;
  std::vector<plan::LoadRound> rounds_;
  std::uint32_t first_round_;
  double share_;
  bool keeps_results_;
  ProbesBeside beside_;
  std::size_t wave_ = 0;  // two a round: flows, receipts
  BatchId batch_;
  std::map<PortId, std::vector<Posted>> by_nic_;  // by spec
  std::map<PortId, std::vector<datapath::FlowTally>> tallies_;
  std::map<PortId, std::vector<datapath::ReceivedTally>> receipts_;
  std::vector<Contradiction> contradictions_;  // of all rounds
  std::set<PortId> reported_not_sent_;
};

}  // namespace weft::session
