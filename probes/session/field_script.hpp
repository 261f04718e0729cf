// FieldScript: traces packets between two NICs that differ in one field each (plan::FieldTrial), in one wave.
// What it traces with packets as usual goes into a path map.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/plan/field_trial.hpp"
#include "probes/session/script.hpp"

namespace weft::session {

class FieldScript final : public Script {
 public:
  /// Preconditions: both NICs have addresses; several paths join them (plan::hops_of_trial).
  FieldScript(const Fabric& fabric, const AddressBook& addresses, const SweepOptions& options, RunId run,
              const plan::NicPair& pair);

  std::vector<WorkItem> next_wave() override;
  void take(const WorkItem& item, const TaskAnswer* answer) override;
  void exclude(PortId nic) override { results_.out.insert(nic); }
  void blame(HostEvidence evidence) override { results_.observations.hosts.push_back(std::move(evidence)); }
  void not_tested(NotTested what) override {
    blame({what.host, what.nic, Verdict::unknown, std::nullopt, std::move(what.why)});
  }
  bool mixes_engines() const override { return true; }
  bool cut_short(const std::string& why) override {
    cut_short_ = why;
    asked_ = true;
    return true;
  }
  std::string_view doing() const override { return "tracing"; }

  FieldFindings findings() const { return trial_.findings(); }
  const plan::PathLearner& learner() const { return results_.learner; }
  /// Why it ended before it was done.
  const std::optional<std::string>& why_cut_short() const { return cut_short_; }
  /// Hosts that could not take part, and why.
  const std::vector<HostEvidence>& troubles() const { return results_.observations.hosts; }

 private:
  SweepInputs in_;
  SweepResults results_;
  plan::NicPair pair_;
  plan::FieldTrial trial_;
  bool asked_ = false;
  std::optional<std::string> cut_short_;
};

}  // namespace weft::session
