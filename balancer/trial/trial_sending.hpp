// One sending of a trial: phase after phase of a demand over the fabric's agents, and beside what came of it
// what the plan, the fluid model and the packet mode say. TrialWorld is what a trial must know of the world.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "balancer/assign/assign.hpp"
#include "balancer/flowsim/packets.hpp"
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

class SendingInHand {
 public:
  using Phases = std::vector<std::vector<flowsim::Sending>>;
  /// What it refers to outlives the sending. `results`: of the mapping whose paths it takes.
  struct Ground {
    const session::SweepInputs& in;
    session::SweepResults& results;
    const TrialOptions& options;
    TrialWorld& world;
  };
  /// `before`: what the channels have carried so far. A phase may take `limit`.
  SendingInHand(const Ground& ground, bool steered, Phases phases, Nanoseconds limit,
                std::vector<std::uint64_t> before);

  std::vector<session::WorkItem> next_wave() { return transfer_->next_wave(); }
  void take(const session::WorkItem& item, const session::TaskAnswer* answer);
  /// The phase in hand is over. False: there is another, which has begun.
  bool end_phase();
  /// When all phases are over. Error: the world does not tell what was carried.
  Result<TrialSending> finish();

  /// Of the QPs of the first phase, by the world's clock, when the first byte was acknowledged: of the first
  /// and of the last of them; absent: none was.
  struct FirstBytes {
    std::optional<Nanoseconds> first = std::nullopt;
    std::optional<Nanoseconds> last = std::nullopt;
    std::uint64_t unacknowledged = 0;  // QPs of all phases of which none was
  };
  const FirstBytes& first_bytes() const { return first_bytes_; }

 private:
  void begin_phase();
  void time_first_byte(PortId src, const session::TransferOutcome& outcome);
  void predict(const std::vector<flowsim::Sending>& sendings);

  Ground ground_;
  Phases phases_;
  Nanoseconds limit_;
  std::vector<std::uint64_t> before_;
  std::size_t phase_ = 0;
  std::unique_ptr<session::TransferStage> transfer_;  // of the phase in hand
  Nanoseconds asked_{};                               // when it was sent out
  std::map<PortId, Nanoseconds> answered_;            // when each NIC's agent said that it was over
  TrialSending sum_;
  FirstBytes first_bytes_;
};

}  // namespace weft::trial
