// Sweep: the whole of a sweep as a pure script: waves of work out, answers in, a diagnosis at the end. First
// the paths are mapped, then every channel is probed with small and with large packets, then loaded (if
// asked); a first diagnosis names its hypotheses, and a second, targeted round settles what it can.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "probes/diagnosis/diagnose.hpp"
#include "probes/plan/echo_plan.hpp"
#include "probes/session/script.hpp"
#include "probes/session/sweep_load.hpp"
#include "probes/session/sweep_pings.hpp"
#include "topology/findings/diagnosis.hpp"
#include "topology/findings/nic_counters.hpp"

namespace weft::session {

struct SweepReport {
  Diagnosis diagnosis;
  std::uint64_t sent = 0;  // probes, one way
  std::uint64_t lost = 0;
};

struct EngineUsed {
  std::string engine;
  std::string why;
};

/// What the NICs' devices counted over a sweep: read before the first packet, before the load and after it.
class NicCounterReadings {
 public:
  enum class Moment { before, at_load, after };
  /// `in` and `results` outlive this and its stages, and this outlives its stages.
  NicCounterReadings(const SweepInputs& in, SweepResults& results) : in_(&in), results_(&results) {}

  /// Asks the NICs that take part, once. Null: counters are not wanted.
  std::unique_ptr<Stage> read(Moment moment);
  /// Adds what was counted to what is known. Call once, after the last reading.
  void note();
  /// From before the first packet until the load was over; of NICs whose devices told both times.
  const std::vector<NicCounterSteps>& steps() const { return steps_; }

 private:
  const SweepInputs* in_;
  SweepResults* results_;
  std::map<Moment, std::map<PortId, NicCounters>> readings_;
  std::vector<NicCounterSteps> steps_;
};

class Sweep final : public Script {
 public:
  /// `fabric` and `addresses` outlive the sweep; every NIC that takes part has an address.
  Sweep(const Fabric& fabric, const AddressBook& addresses, const SweepOptions& options, RunId run);
  ~Sweep() override;

  std::vector<WorkItem> next_wave() override;
  void take(const WorkItem& item, const TaskAnswer* answer) override;
  void exclude(PortId nic) override { results_.out.insert(nic); }
  void blame(HostEvidence evidence) override { results_.observations.hosts.push_back(std::move(evidence)); }
  void not_tested(NotTested what) override { results_.not_tested.push_back(std::move(what)); }
  void note_pause() override { results_.paused = true; }
  bool cut_short(const std::string& why) override;
  void meet(const std::vector<diagnosis::JoinedHost>& hosts) override;
  void note_use(PortId nic, std::string_view text) override { uses_[nic] = text; }
  void note_engine(std::string_view engine, std::string_view why) override {
    engine_ = {std::string(engine), std::string(why)};
  }
  std::string_view doing() const override;
  std::optional<RunPart> part() const override { return at_; }
  std::uint64_t probes_sent() const override { return results_.sent; }

  /// What the hosts must be like, beyond what most of them are. Call before the run.
  void expect_of_hosts(const diagnosis::HostExpectations& expectations) { expectations_ = expectations; }
  /// What is computed ends early from when these are true on: between the waves, and for the verdict, of
  /// which is said why then. Call before the run.
  struct ComputingLimit {
    std::function<bool()> settling, verdict;
    std::string why;
  };
  void limit_computing(ComputingLimit limit) { computing_ = std::move(limit); }
  /// The paths are known (read from an InfiniBand fabric's tables): nothing is traced. Call before the first
  /// wave; `learn` adopts the paths.
  template <class Learn>
  void know_paths(Learn learn) {
    learn(results_.learner);
    skip_mapping();
  }
  /// Ports without an agent that are asked for echoes besides (InfiniBand). Call before the first wave.
  void know_echoes(std::vector<plan::Echo> echoes) { echoes_ = std::move(echoes); }
  /// What stands between hosts and fabric dropped so many packets, of any rows. Call once, after the run.
  void excuse(std::uint64_t dropped);
  /// What else is known of a channel: counters, a cable that is not there.
  void note(ChannelEvidence evidence) { results_.observations.channels.push_back(std::move(evidence)); }
  void note(ChannelCount count) { results_.observations.counts.push_back(std::move(count)); }
  /// This NIC was never to take part: that its cable was not probed is no gap.
  void leave_out(PortId nic) {
    exclude(nic);
    left_out_.insert(nic);
  }

  /// By channel: what the hosts of this run can use; the others are no gap either. `told_by`: what tells of
  /// those without probes. Call before the run.
  void limit_to(std::vector<bool> scope, std::optional<std::string> told_by = std::nullopt) {
    scope_ = std::move(scope);
    out_of_scope_told_by_ = std::move(told_by);
  }

  /// May be called at any time: what is known so far.
  SweepReport finish();
  const plan::PathLearner& learner() const { return results_.learner; }
  const Observations& observations() const { return results_.observations; }
  const FlowResults& flows() const { return results_.flows; }
  /// Round trips beside the flows of the load's own rounds; none where engines send no probes there.
  const std::vector<LoadedTrip>& loaded_trips() const { return results_.loaded_trips; }
  /// What the NICs' devices counted from before the first packet until the load was over.
  const std::vector<NicCounterSteps>& nic_counters() const { return counters_.steps(); }
  /// What the hosts at the NICs added to the round trips of probes, where engines can tell.
  const std::map<PortId, HostDelays>& host_delays() const { return results_.delays; }
  /// The engine that the run chose, and why; absent: it was told.
  const std::optional<EngineUsed>& engine() const { return engine_; }
  /// What the engines of the NICs went by, in words.
  const std::map<PortId, std::string>& uses() const { return uses_; }

 private:
  enum class Part { mapping, probing, sizing, loading, counting, settling, done };
  void skip_mapping();
  RunPart share_of(Part part) const;
  void begin_next_part();
  void add(std::unique_ptr<Stage> stage);
  void add(std::vector<std::unique_ptr<Stage>> stages);
  diagnosis::Assessment assess_to_settle() const;
  void plan_settling();
  void note_corruption();
  void note_slow_nics();
  /// What of the fabric was tested, by all that the run knows.
  void cover(Diagnosis& found);

  SweepInputs in_;
  SweepResults results_;
  SweepPings pings_;
  SweepLoad load_;
  NicCounterReadings counters_;
  Part part_ = Part::mapping;
  bool paths_known_ = false;  // from an InfiniBand fabric's tables: nothing is traced
  std::vector<plan::Echo> echoes_;
  std::set<PortId> left_out_;
  std::vector<bool> scope_;  // empty: the whole fabric
  std::optional<std::string> out_of_scope_told_by_;
  diagnosis::HostExpectations expectations_;
  std::deque<std::unique_ptr<Stage>> stages_;  // of the current part
  RunPart at_{0, 0};                           // the wave in hand
  int settlings_ = 0;
  std::map<PortId, std::string> uses_;
  std::optional<EngineUsed> engine_;
  std::optional<std::string> cut_short_;
  ComputingLimit computing_;
};

}  // namespace weft::session
