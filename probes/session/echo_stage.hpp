// EchoStage: asks ports without an agent for echoes, from all NICs at once. A round trip that is not answered
// was lost on one of its ways; which one, other rows tell.
#pragma once

#include <map>

#include "probes/plan/echo_plan.hpp"
#include "probes/session/stage.hpp"

namespace weft::session {

class EchoStage : public Stage {
 public:
  /// The NIC that asks most ports sends `packets_per_second` for `seconds`; each asks all of its ports alike.
  EchoStage(const SweepInputs& in, SweepResults& results, std::vector<plan::Echo> echoes,
            double packets_per_second, double seconds)
      : in_(&in),
        results_(&results),
        echoes_(std::move(echoes)),
        packets_per_second_(packets_per_second),
        seconds_(seconds) {}
  std::string_view name() const override { return "probing ports without an agent"; }
  std::vector<WorkItem> next_wave() override;
  void take(const WorkItem& item, const TaskAnswer* answer) override;

 private:
  const SweepInputs* in_;
  SweepResults* results_;
  std::vector<plan::Echo> echoes_;
  double packets_per_second_;
  double seconds_;
  bool asked_ = false;
  std::map<PortId, std::vector<std::size_t>> by_nic_;  // the spec index of a NIC's request -> into echoes_
};

}  // namespace weft::session
