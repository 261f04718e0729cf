// TraceScript: traces labels between two NICs, once. Then, where that is asked for, it connects queue pairs
// with default settings, asks which labels they use and traces those too; and moves them while they live to
// labels that spread them evenly over the paths it traced.
#pragma once

#include <set>

#include "probes/datapath/flow_engine.hpp"
#include "probes/plan/label_map.hpp"
#include "probes/plan/path_search.hpp"
#include "probes/plan/trace_plan.hpp"
#include "probes/session/map_stage.hpp"
#include "probes/session/script.hpp"

namespace weft::session {

struct AuditOrder {
  std::uint32_t queue_pairs = 0;  // 0: no audit
  bool move = false;
};

/// Whether all labels are to be mapped, those of the plan set aside: traced, at the hops that decide, until
/// the others are predicted or have no structure; then until all paths of the fabric are seen, or enough
/// labels that each had been with this confidence.
struct MapOrder {
  bool all_labels = false;
  Fraction confidence{0.99};
};

class TraceScript final : public Script {
 public:
  TraceScript(const Fabric& fabric, const AddressBook& addresses, const SweepOptions& options, RunId run,
              plan::TracePlan plan, AuditOrder audit = {}, MapOrder map = {});
  std::vector<WorkItem> next_wave() override;
  void take(const WorkItem& item, const TaskAnswer* answer) override;
  void exclude(PortId nic) override { results_.out.insert(nic); }
  void blame(HostEvidence evidence) override { results_.observations.hosts.push_back(std::move(evidence)); }
  void not_tested(NotTested what) override {
    blame({what.host, what.nic, Verdict::unknown, std::nullopt, std::move(what.why)});
  }
  bool mixes_engines() const override { return audit_.queue_pairs == 0; }
  void note_use(PortId nic, std::string_view text) override { uses_[nic] = text; }
  bool cut_short(const std::string& why) override {
    cut_short_ = why;
    step_ = Step::over;
    return true;
  }
  std::string_view doing() const override { return "tracing"; }

  const plan::PathLearner& learner() const { return results_.learner; }
  /// Null where not all labels were to be mapped.
  plan::LabelMap* label_map() { return map_ ? &*map_ : nullptr; }
  /// Labels traced, each once.
  std::size_t labels_traced() const { return traced_.size(); }
  /// Those that told which label their device chose.
  const std::vector<datapath::AuditedQp>& audited() const { return audited_; }
  /// What the engines of the NICs go by, in words.
  const std::map<PortId, std::string>& uses() const { return uses_; }
  /// Why it ended before it was done.
  const std::optional<std::string>& why_cut_short() const { return cut_short_; }
  /// Hosts that could not take part, and why.
  const std::vector<HostEvidence>& troubles() const { return results_.observations.hosts; }

 private:
  enum class Step : std::uint8_t { map, audit, map_chosen, over };
  std::vector<WorkItem> trace(std::vector<PathLabel> labels);
  std::vector<WorkItem> queue_pair_work();
  std::vector<PathLabel> untraced() const;
  std::vector<PathLabel> next_to_map();
  std::size_t paths_seen() const;

  SweepInputs in_;
  SweepResults results_;
  plan::TracePlan plan_;
  AuditOrder audit_;
  MapOrder order_;
  std::optional<plan::LabelMap> map_;
  std::optional<plan::HopRange> deciding_;  // of a map, while they answer; absent: all hops are asked
  std::set<PathLabel> traced_;
  Step step_ = Step::map;
  std::vector<datapath::AuditedQp> audited_;
  std::optional<MapStage> stage_;
  std::map<PortId, std::string> uses_;
  std::optional<std::string> cut_short_;
};

}  // namespace weft::session
