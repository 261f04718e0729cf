// BalanceTrial: sends a job's flows over a fabric's agents, by the labels that the balancer gives and by
// random ones in turn, and compares what the links' counters and the clock say with the plan and the fluid
// model. On request a link is then taken down, the fabric diagnosed, and the flows steered around it. A pure
// script: what it must know of the world it asks TrialWorld.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "balancer/flowsim/packets.hpp"
#include "probes/plan/trace_plan.hpp"
#include "probes/session/map_stage.hpp"
#include "probes/session/sweep.hpp"
#include "probes/session/transfer_stage.hpp"

namespace weft::trial {

class TrialWorld {
 public:
  virtual ~TrialWorld() = default;
  /// Bytes that each channel has carried so far, by the counters of the interfaces; indexed by channel.
  virtual Result<std::vector<std::uint64_t>> carried() = 0;
  virtual Nanoseconds now() = 0;
  virtual Result<void> take_down(LinkId link) = 0;
};

struct TrialOptions {
  assign::AssignOptions assign;        // qps, seed, avoid; paths are mapped by the trial
  std::uint32_t labels = 64;           // traced for each pair, each way
  std::uint32_t repeats = 0;           // how often both are sent; 0: paths are mapped and nothing is sent
  session::TransferSettings transfer;  // its limit holds for each sending
  flowsim::FrameSizes frames;          // of `transfer.size`
  Nanoseconds queue = std::chrono::milliseconds(20);  // that a link holds
  Bytes burst{16'384};                                // of the token bucket that shapes it
  std::optional<LinkId> fail = std::nullopt;
  session::SweepOptions sweep;  // of the diagnosis after the failure
};

/// One phase, or all phases of a demand one after the other, sent once.
struct TrialSending {
  bool steered = true;
  double measured = 0;    // seconds until the last QP was through
  double predicted = 0;   // by the fluid model, over these very paths
  double by_packets = 0;  // by the packet mode; 0: too many packets for it
  std::uint64_t qps = 0;
  std::uint64_t unfinished = 0;                     // QPs that delivered less than they had to
  std::uint64_t wanted = 0;                         // packets
  std::uint64_t sent = 0;                           // those sent again included
  std::uint64_t received = 0;                       // as the receivers counted
  std::optional<std::string> error = std::nullopt;  // of a queue pair, the first
  std::vector<double> planned;                      // bytes, by channel
  std::vector<double> counted;
};

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
  /// The phases of a sending that still wait, and what has come of it so far.
  struct Current {
    std::vector<std::vector<flowsim::Sending>> phases;
    std::size_t phase = 0;
    TrialSending sum;
    std::vector<std::uint64_t> before;
    std::optional<double> first_byte;  // seconds from the diagnosis
    std::optional<double> last_first_byte;
    std::uint64_t unacknowledged = 0;  // QPs
  };

  void begin_mapping();
  std::vector<session::WorkItem> ask();
  bool advance();
  void adopt_map();
  void begin_sending(bool steered, std::vector<std::vector<flowsim::Sending>> phases, Nanoseconds limit);
  void begin_phase();
  void end_phase();
  void time_first_byte(PortId src, const session::TransferOutcome& outcome);
  void predict(const std::vector<flowsim::Sending>& sendings, TrialSending& sum) const;
  bool end_sending();
  void begin_repeat();
  void fail_link();
  void steer_around();
  std::vector<std::vector<flowsim::Sending>> steered() const;
  std::vector<std::vector<flowsim::Sending>> hashed(std::uint64_t seed) const;
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
  std::unique_ptr<session::TransferStage> transfer_;
  std::unique_ptr<session::Sweep> sweep_;
  PathMap paths_;
  PathMap new_paths_;
  std::optional<flowsim::LabelledPaths> labelled_;
  assign::Assignment assignment_;
  std::vector<TrialSending> sendings_;
  std::optional<TrialAfterFailure> after_;
  std::optional<Current> current_;
  Nanoseconds limit_{};
  Nanoseconds since_{};                     // when the part began
  Nanoseconds asked_{};                     // when the phase was sent out
  std::map<PortId, Nanoseconds> answered_;  // when each NIC's agent said that the phase was over
  Nanoseconds diagnosed_{};
};

}  // namespace weft::trial
