// PathSearchScript: finds all paths of many pairs of NICs, asking only the hops that decide (PathSearch).
// Where switches answer less than they are asked, it asks more slowly. Pure.
#pragma once

#include <optional>
#include <string>

#include "probes/plan/path_search.hpp"
#include "probes/session/map_stage.hpp"
#include "probes/session/script.hpp"

namespace weft::session {

class PathSearchScript : public Script {
 public:
  /// `fabric` and `addresses` outlive the script; both NICs of each pair have addresses. Of the options only
  /// confidence, seed and answers_per_second matter.
  PathSearchScript(const Fabric& fabric, const AddressBook& addresses, const SweepOptions& options, RunId run,
                   const std::vector<plan::NicPair>& pairs);

  std::vector<WorkItem> next_wave() override;
  void take(const WorkItem& item, const TaskAnswer* answer) override;
  void exclude(PortId nic) override;
  void blame(HostEvidence evidence) override { troubles_.push_back(std::move(evidence)); }
  void not_tested(NotTested what) override {
    blame({what.host, what.nic, Verdict::unknown, std::nullopt, std::move(what.why)});
  }
  bool mixes_engines() const override { return true; }
  bool cut_short(const std::string& why) override {
    cut_short_ = why;
    return true;
  }
  std::uint64_t probes_sent() const override { return probes_; }
  std::string_view doing() const override { return "finding paths"; }

  const plan::PathLearner& learner() const { return results_.learner; }
  std::vector<plan::PathSearch::State> states() const { return search_.states(); }
  const std::optional<std::string>& why_cut_short() const { return cut_short_; }
  /// Hosts that could not take part, and why.
  const std::vector<HostEvidence>& troubles() const { return troubles_; }

 private:
  void note_rate();

  SweepInputs in_;
  SweepResults results_;
  std::vector<plan::NicPair> pairs_;
  plan::PathSearch search_;
  double rate_;            // answers a switch is asked for per second
  double asked_rate_ = 0;  // by the latest wave, at the busiest switch
  std::size_t asked_ = 0;
  std::uint64_t probes_ = 0;
  std::vector<HostEvidence> troubles_;
  std::optional<std::string> cut_short_;
};

}  // namespace weft::session
