// ProbesBeside: the small probes beside the flows of load rounds. Which way their echoes take, such that
// round trips under load and idle ones cross the same channels; how many there are; and what came of them.
// They are no observations: where a flow fills a queue they are lost as its packets are, and a loss by small
// probes would accuse a channel that only carries too much. Pure.
#pragma once

#include <map>
#include <tuple>

#include "probes/plan/load_plan.hpp"
#include "probes/session/stage.hpp"

namespace weft::session {

class ProbesBeside {
 public:
  /// Both outlive this.
  ProbesBeside(const SweepInputs& in, SweepResults& results) : in_(&in), results_(&results) {}

  /// Before the flows of a round are planned: what of idle paths has been seen.
  void learn();
  /// Of the echoes of probes beside this flow; absent: none are to go, for no way back is known.
  std::optional<PathLabel> back_label(const plan::PlannedFlow& flow) const;
  /// For a request of these specs: at most 1 % of the bytes of each flow, and no more than a NIC may probe
  /// with; absent where that leaves none.
  std::optional<datapath::TripProbes> pace(const std::vector<datapath::FlowSpec>& specs, BatchId batch) const;
  void take(const plan::PlannedFlow& flow, std::uint32_t round, const datapath::TripTally& tally);

 private:
  struct Idle {
    PathLabel label;
    std::optional<PathSetId> back;
    RttQuantiles rtt;
  };
  struct Echo {
    PathLabel label;
    std::optional<PathSetId> path;
    std::optional<RttQuantiles> idle;
  };
  std::optional<Echo> echo_of(const plan::PlannedFlow& flow) const;

  const SweepInputs* in_;
  SweepResults* results_;
  std::map<std::tuple<PortId, PortId, PathSetId>, Idle> idle_;  // by pair and way there
  std::size_t learned_ = 0;                                     // of the observations
};

}  // namespace weft::session
