// TransferStage: the QPs of a job, all at once from all NICs, until everything is delivered or the time is
// over; then asks every receiver what it counted.
#pragma once

#include <map>

#include "probes/plan/pairs.hpp"
#include "probes/session/stage.hpp"

namespace weft::session {

struct PlannedTransfer {
  plan::NicPair pair;
  PathLabel label;
  PathLabel back_label;
  std::uint32_t packets = 0;
};

struct TransferSettings {
  Bytes size = Bytes(4096);  // of one IP packet
  std::uint32_t window = 8;  // packets of one NIC on their way
  Nanoseconds limit = std::chrono::seconds(30);
};

/// What became of one PlannedTransfer.
struct TransferOutcome {
  std::uint64_t sent = 0;
  std::uint64_t delivered = 0;                      // acknowledged
  std::uint64_t received = 0;                       // packets the receiver counted
  Nanoseconds elapsed{};                            // until the last acknowledgement, on the sender's clock
  std::optional<Nanoseconds> first = std::nullopt;  // acknowledgement: TransferTally::first
  std::optional<Nanoseconds> took = std::nullopt;   // the whole request: TransferTally::took
  std::optional<std::string> error = std::nullopt;  // of its queue pair
};

class TransferStage : public Stage {
 public:
  TransferStage(const SweepInputs& in, SweepResults& results, std::vector<PlannedTransfer> transfers,
                const TransferSettings& settings)
      : in_(&in),
        results_(&results),
        transfers_(std::move(transfers)),
        settings_(settings),
        outcomes_(transfers_.size()) {}
  std::string_view name() const override { return "sending"; }
  std::vector<WorkItem> next_wave() override;
  void take(const WorkItem& item, const TaskAnswer* answer) override;

  /// In the order of the transfers; complete when the stage is over.
  const std::vector<TransferOutcome>& outcomes() const { return outcomes_; }

 private:
  enum class Wave { transfers, receipts, done };
  std::vector<WorkItem> transfer_work();
  std::vector<WorkItem> receipt_work();

  const SweepInputs* in_;
  SweepResults* results_;
  std::vector<PlannedTransfer> transfers_;
  TransferSettings settings_;
  std::vector<TransferOutcome> outcomes_;
  Wave wave_ = Wave::transfers;
  BatchId batch_;
  std::map<PortId, std::vector<std::size_t>> by_nic_;  // a request's spec -> index of the transfer
};

}  // namespace weft::session
