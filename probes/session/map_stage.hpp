// MapStage: traces labels until every channel was seen, or was given enough chances to be seen that its
// silence means something; then says which channels stay dark. Where the switches' hashes were learned from
// the first traces, labels that are predicted to cross a channel unseen so far are traced beside random ones:
// all that follows goes by what was traced.
#pragma once

#include "probes/plan/predicted_traces.hpp"
#include "probes/plan/trace_plan.hpp"
#include "probes/session/stage.hpp"

namespace weft::session {

/// How traces are asked.
struct TraceManner {
  double answers_per_second;  // of a switch
  std::uint8_t attempts;      // at a hop that stays silent
};
/// Work for each source: its traces, paced so that no switch is asked for more than it answers. Pairs of
/// which a NIC takes no part are left out.
std::vector<WorkItem> trace_work(const SweepInputs& in, SweepResults& results,
                                 const std::vector<plan::TracePlan>& plan, TraceManner manner);

/// The answers to a request, by its specs.
std::vector<std::vector<datapath::HopAnswer>> by_spec(const datapath::TraceRequest& request,
                                                      const TaskAnswer* answer);

class MapStage : public Stage {
 public:
  MapStage(const SweepInputs& in, SweepResults& results) : in_(&in), results_(&results) {}
  /// Traces just this plan, once.
  MapStage(const SweepInputs& in, SweepResults& results, std::vector<plan::TracePlan> plan)
      : in_(&in), results_(&results), only_(std::move(plan)) {}
  std::string_view name() const override { return "mapping paths"; }
  std::size_t waves_left() const override;
  std::vector<WorkItem> next_wave() override;
  void take(const WorkItem& item, const TaskAnswer* answer) override;

 private:
  std::vector<WorkItem> work_for(const std::vector<plan::TracePlan>& plan);
  std::vector<plan::TracePlan> traces_of_pattern(const std::vector<plan::NicPair>& mapped,
                                                 const std::vector<PortId>& out);
  std::vector<plan::TracePlan> more_traces(const std::vector<ChannelId>& unseen);

  const SweepInputs* in_;
  SweepResults* results_;
  std::optional<std::vector<plan::TracePlan>> only_;
  std::optional<plan::PredictedTraces> predicted_;
  std::vector<plan::NicPair> predicted_for_;
  int round_ = 0;
};

/// Adds what the finished map says besides paths: of channels that nothing takes or whose switches answered,
/// and of cables that lead elsewhere than the fabric says.
void note_map(const SweepInputs& in, SweepResults& results);

}  // namespace weft::session
