// MapStage: traces labels until every channel was seen, or was given enough chances to be seen that its
// silence means something; then says which channels stay dark.
#pragma once

#include "probes/plan/trace_plan.hpp"
#include "probes/session/stage.hpp"

namespace weft::session {

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
  int round_ = 0;
};

}  // namespace weft::session
