// MapScript: maps the paths of a fabric and nothing else, as the first stage of a sweep does. What a watcher
// runs before its agents probe all the time, and again where routes have moved. Pure.
#pragma once

#include "probes/session/map_stage.hpp"
#include "probes/session/script.hpp"

namespace weft::session {

class MapScript final : public Script {
 public:
  /// `fabric` and `addresses` outlive the script; every NIC that takes part has an address. Of the options
  /// only confidence, seed and answers_per_second matter.
  MapScript(const Fabric& fabric, const AddressBook& addresses, const SweepOptions& options, RunId run);

  std::vector<WorkItem> next_wave() override;
  void take(const WorkItem& item, const TaskAnswer* answer) override { stage_.take(item, answer); }
  void exclude(PortId nic) override { results_.out.insert(nic); }
  void blame(HostEvidence evidence) override { troubles_.push_back(std::move(evidence)); }
  void not_tested(NotTested what) override { results_.not_tested.push_back(std::move(what)); }
  std::string_view doing() const override { return stage_.name(); }

  /// Of use when the script is over.
  const plan::PathLearner& learner() const { return results_.learner; }
  /// NICs that took no part: no agent came, or its engine could not be opened.
  const std::set<PortId>& out() const { return results_.out; }
  const std::vector<NotTested>& left_out() const { return results_.not_tested; }
  const std::vector<HostEvidence>& troubles() const { return troubles_; }

 private:
  SweepInputs in_;
  SweepResults results_;
  MapStage stage_;
  std::vector<HostEvidence> troubles_;
};

}  // namespace weft::session
