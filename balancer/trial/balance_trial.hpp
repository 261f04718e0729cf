// BalanceTrial: sends a job's flows over a fabric's agents, by the labels that the balancer gives and by
// random ones in turn, and compares what the links' counters and the clock say with the plan and the fluid
// model. On request a link is then taken down, the fabric diagnosed, and the flows steered around it. A pure
// script: what it must know of the world it asks TrialWorld.
#pragma once

#include <memory>
#include <optional>
#include <set>

#include "balancer/trial/trial_sending.hpp"
#include "probes/plan/trace_plan.hpp"
#include "probes/session/map_stage.hpp"
#include "probes/session/sweep.hpp"

namespace weft::trial {

/// After the link went down.
struct TrialAfterFailure {
  TrialSending stuck;  // by the labels of before
  Verdict verdict = Verdict::unknown;
  std::vector<LinkId> blamed;
  double mapping = 0;     // seconds
  double diagnosing = 0;  // seconds
  std::uint32_t moved = 0;
  double assigning = 0;  // seconds from the diagnosis to the new assignment
  /// Seconds from the diagnosis until the first QP's first byte was acknowledged; absent: none ever was.
  std::optional<double> first_byte;
  /// Seconds from the diagnosis until every QP's first byte was; absent: of `unacknowledged` QPs none ever
  /// was.
  std::optional<double> in_force;
  std::uint64_t unacknowledged = 0;
  TrialSending again;  // by the new labels
};

class BalanceTrial final : public session::Script {
 public:
  /// All references outlive it. `fabric` has the rates that the links really have.
  BalanceTrial(const Fabric& fabric, const AddressBook& addresses, const demand::Demand& demand, RunId run,
               TrialOptions options, TrialWorld& world);

  std::vector<session::WorkItem> next_wave() override;
  void take(const session::WorkItem& item, const session::TaskAnswer* answer) override;
  void exclude(PortId nic) override;
  void blame(HostEvidence evidence) override;
  void not_tested(NotTested what) override;
  std::string_view doing() const override;

  // When it is over.
  /// The world failed, or a host could not take part.
  const Result<void>& outcome() const { return outcome_; }
  /// As mapped, before any failure.
  const PathMap& paths() const { return paths_; }
  const assign::Assignment& assignment() const { return assignment_; }
  const std::vector<TrialSending>& sendings() const { return sendings_; }
  const std::optional<TrialAfterFailure>& after_failure() const { return after_; }

 private:
  enum class Part { mapping, sending, failing, mapping_again, diagnosing, sending_again, done };

  void begin_mapping();
  std::vector<session::WorkItem> ask();
  bool advance();
  void adopt_map();
  void begin_sending(bool steered, SendingInHand::Phases phases, Nanoseconds limit);
  bool end_sending();
  void begin_repeat();
  void fail_link();
  void steer_around();
  SendingInHand::Phases steered() const;
  SendingInHand::Phases hashed(std::uint64_t seed) const;
  bool give_up(Error error);

  const Fabric& fabric_;
  const AddressBook& addresses_;
  const demand::Demand& demand_;
  RunId run_;
  TrialOptions options_;
  TrialWorld& world_;
  session::SweepInputs in_;
  Result<void> outcome_;
  Part part_ = Part::mapping;
  std::set<PortId> out_;
  BatchId last_batch_;
  std::unique_ptr<session::SweepResults> results_;  // of the mapping in hand
  std::unique_ptr<session::MapStage> map_;
  std::unique_ptr<session::Sweep> sweep_;
  PathMap paths_;
  PathMap new_paths_;
  std::optional<flowsim::LabelledPaths> labelled_;
  assign::Assignment assignment_;
  std::vector<TrialSending> sendings_;
  std::optional<TrialAfterFailure> after_;
  std::optional<SendingInHand> sending_;
  Nanoseconds since_{};  // when the part began
  Nanoseconds diagnosed_{};
};

}  // namespace weft::trial
