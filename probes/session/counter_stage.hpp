// CounterStage: asks the NICs that take part what their devices have counted, once.
#pragma once

#include <map>

#include "probes/session/stage.hpp"

namespace weft {

class CounterStage : public Stage {
 public:
  /// `readings` outlives it and takes what comes; a NIC whose device tells nothing is left out.
  CounterStage(SweepState& state, std::map<PortId, NicCounters>& readings)
      : state_(&state), readings_(&readings) {}
  std::string_view name() const override { return "reading counters"; }
  std::vector<WorkItem> next_wave() override;
  void take(const WorkItem& item, const TaskAnswer* answer) override;

 private:
  SweepState* state_;
  std::map<PortId, NicCounters>* readings_;
  bool asked_ = false;
};

}  // namespace weft
