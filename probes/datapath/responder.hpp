// Responder: the far end of probes and flows. Counts what it received, without repeats, by batch, sender NIC
// and spec, and says what to answer. It answers only authenticated probes of its run that come from where the
// run has their NIC, each once, with a packet of the same size, and segments of a transfer with the smallest;
// flows are counted and not answered.
// Memory is bounded: the oldest batches make room. Pure; one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <iterator>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "probes/datapath/packet_port.hpp"
#include "probes/datapath/probe_engine.hpp"
#include "probes/datapath/run_nics.hpp"
#include "probes/datapath/sequence_window.hpp"
#include "probes/packet/frame_template.hpp"
#include "topology/findings/loss_runs.hpp"

namespace weft::datapath {

/// SequenceGaps: which of a stream's sequence numbers, from 0 to the highest that came, did not come. Memory
/// is bounded: a stream with more gaps than a row keeps is given up. Pure.
class SequenceGaps {
 public:
  /// Each number once.
  void insert(std::uint32_t sequence) {
    if (too_many_) return;
    if (sequence >= next_) {
      if (sequence > next_)
        gaps_.push_back({static_cast<std::uint32_t>(next_), static_cast<std::uint32_t>(sequence - next_)});
      next_ = std::uint64_t{sequence} + 1;
    } else {
      fill(sequence);
    }
    if (gaps_.size() <= kMaxLossRuns) return;
    too_many_ = true;
    gaps_ = {};
  }

  /// Absent: there were too many.
  std::optional<std::vector<LossRun>> runs() const { return too_many_ ? std::nullopt : std::optional(gaps_); }

 private:
  /// A packet that younger ones overtook.
  void fill(std::uint32_t sequence) {
    for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
      if (sequence < gap->first || sequence - gap->first >= gap->count) continue;
      const LossRun before{gap->first, sequence - gap->first};
      const LossRun behind{sequence + 1, gap->count - before.count - 1};
      gap = gaps_.erase(gap);
      if (behind.count > 0) gap = gaps_.insert(gap, behind);
      if (before.count > 0) gaps_.insert(gap, before);
      return;
    }
  }

  std::vector<LossRun> gaps_;  // ascending
  std::uint64_t next_ = 0;     // one beyond the highest that came
  bool too_many_ = false;
};

struct ResponderLimits {
  std::size_t batches = 256;
  std::size_t streams = 65536;  // (batch, NIC, spec), over all batches; about 300 bytes each, 800 at most
};

/// What the responder did not count for a stream.
struct ResponderRejects {
  std::uint64_t foreign = 0;  // no probe, another run, not made with the key, or not from its NIC's address
  std::uint64_t damaged = 0;  // a wrong ICRC, and a header too damaged to say whose it was
  std::uint64_t repeated = 0;
  std::uint64_t beyond_limits = 0;
  friend bool operator==(const ResponderRejects&, const ResponderRejects&) = default;
};

class Responder {
 public:
  /// `nic`, `secrets` and `nics` outlive the responder.
  Responder(const LocalNic& nic, const packet::RunSecrets& secrets, const RunNics& nics,
            const ResponderLimits& limits = {});

  /// Takes a frame received at `at` and returns an answer that goes out at `now`, written by `reply`; empty
  /// where there is none.
  ByteSpan take(ByteSpan frame, Nanoseconds at, Nanoseconds now, packet::FrameTemplate& reply);
  /// An answer that take() wrote did not go out, or went out so much later that it is late.
  void note_unsent(ByteSpan reply);
  void note_late(ByteSpan reply);
  /// By NIC, then spec; empty for a batch of which nothing came.
  std::vector<ReceivedTally> received(BatchId batch) const;
  const ResponderRejects& rejects() const { return rejects_; }

 private:
  struct Stream {
    ReceivedTally tally;
    IpAddress from;  // where the run has its NIC
    SequenceWindow window;
    std::uint32_t first_psn = 0;
    SequenceGaps gaps;  // of probes: flows are too long to say which packets of them came
  };
  struct Batch {
    BatchId id;
    std::unordered_map<std::uint64_t, Stream> streams;
  };
  /// What an answer that take() wrote answers.
  struct Answered {
    ReceivedTally* tally = nullptr;  // null: it is forgotten
    bool late = false;
  };

  bool count(Stream& stream, const packet::ProbePacket& packet, Nanoseconds at);
  Batch* known_batch(BatchId id);
  Stream* known_stream(const packet::ProbeHeader& header);
  Stream* new_stream(const packet::ProbePacket& packet);
  Batch& batch_of(BatchId id);
  bool make_room(const Batch& keep);
  Answered answered_by(ByteSpan reply);
  ByteSpan answer(const packet::ProbePacket& packet, std::uint32_t first_psn, Nanoseconds turnaround,
                  packet::FrameTemplate& reply);

  const LocalNic& nic_;
  const packet::RunSecrets& secrets_;
  const RunNics& nics_;
  ResponderLimits limits_;
  packet::Authenticator authenticator_;
  packet::ProbePacket in_hand_;  // kept: to make one empty costs as much as to look its stream up
  std::list<Batch> batches_;     // oldest first
  std::unordered_map<BatchId, std::list<Batch>::iterator> by_id_;
  std::size_t streams_ = 0;
  ResponderRejects rejects_;
};

/// ResponderLoop: a Responder at work on a port, in one thread, while others ask what it received.
class ResponderLoop {
 public:
  /// All references outlive the loop.
  ResponderLoop(PacketPort& port, const LocalNic& nic, const packet::RunSecrets& secrets, const RunNics& nics,
                const ResponderLimits& limits = {})
      : port_(port), responder_(nic, secrets, nics, limits) {}

  /// Answers until a stop is asked (seen within 100 ms). A port in trouble (its interface is down) is tried
  /// again ten times a second.
  void run(std::stop_token stop);
  /// Any thread. What the port dropped since another batch was asked for counts as this one's: batches are
  /// asked for one after the other, when they are over. Waits half a second at most until what came is read:
  /// a host that is late has lost nothing.
  std::vector<ReceivedTally> received(BatchId batch);
  ResponderRejects rejects() const;

 private:
  void serve(std::span<const Arrival> arrivals);

  PacketPort& port_;
  std::vector<packet::FrameTemplate> replies_;
  std::vector<ByteSpan> outgoing_;
  std::atomic<std::uint64_t> rounds_ = 0;
  mutable std::mutex mutex_;  // over responder_
  Responder responder_;
  std::optional<BatchId> asked_;  // the batch last asked for
  std::uint64_t dropped_ = 0;     // of its frames
};

}  // namespace weft::datapath
