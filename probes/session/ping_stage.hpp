// PingStage: sends planned pings of one size from all NICs at once, then asks every peer what arrived. Loss
// is counted one way: there by the receiver's count, back by the echoes that are missing from what it
// answered, but for those that its host held back until nobody waited for them.
#pragma once

#include <map>

#include "probes/plan/ping_plan.hpp"
#include "probes/session/stage.hpp"

namespace weft::session {

struct CountedPing {
  plan::PlannedPing ping;
  std::uint32_t packets = 0;
};

/// Shares what was dropped, and not by the fabric, out over the rows that it may have been of, by what came
/// of each: a busy host drops from all paths alike, and what one of them lost beyond that, its channels lost.
/// No row is excused for more than it lost.
void share_out(std::uint64_t dropped, std::vector<std::size_t> rows, std::vector<Observation>& all);

class PingStage : public Stage {
 public:
  /// The NIC that sends most sends `packets_per_second`; all others take as long as it does.
  PingStage(const SweepInputs& in, SweepResults& results, std::vector<CountedPing> pings, Bytes size,
            double packets_per_second)
      : in_(&in),
        results_(&results),
        pings_(std::move(pings)),
        size_(size),
        packets_per_second_(packets_per_second) {}
  std::string_view name() const override { return "probing"; }
  std::size_t waves_left() const override { return wave_ == Wave::pings ? 2 : 1; }
  std::vector<WorkItem> next_wave() override;
  void take(const WorkItem& item, const TaskAnswer* answer) override;

 private:
  enum class Wave { pings, receipts, done };
  std::vector<WorkItem> ping_work();
  std::vector<WorkItem> receipt_work();
  /// What one NIC sent by one ping, and what its peer says of it; null: nothing came.
  struct Reported {
    const plan::PlannedPing* ping;
    const datapath::PingTally* sent;
    const datapath::ReceivedTally* received;
  };
  void conclude();
  void begin_on_clock();
  void observe_all(const std::vector<Reported>& told);
  void observe(const plan::PlannedPing& ping, const datapath::PingTally& tally,
               const datapath::ReceivedTally* received);
  void excuse();

  const SweepInputs* in_;
  SweepResults* results_;
  std::vector<CountedPing> pings_;
  Bytes size_;
  double packets_per_second_;
  Wave wave_ = Wave::pings;
  BatchId batch_;
  std::map<PortId, std::vector<std::size_t>>
      by_nic_;  // the spec index of a NIC's request -> index into pings_
  std::map<PortId, std::vector<datapath::PingTally>> tallies_;
  std::map<PortId, std::vector<datapath::ReceivedTally>>
      receipts_;  // by receiver; a receiver that did not answer is absent
  // Observations of this batch, by the NIC that the packets were for: on the way there, on the way back.
  std::map<PortId, std::vector<std::size_t>> heard_at_, echoed_to_;
};

}  // namespace weft::session
