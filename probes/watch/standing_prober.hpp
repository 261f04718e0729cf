// StandingProber: the probing end of one NIC under one assignment, by its schedule: which probes are due,
// what came back, which were lost and on which way. Frames and times in, frames and NicWindows out. Pure; one
// thread.
//
// Numbers count what was handed to the wire, so a window says exactly what was sent. A probe that could not
// leave (no next hop, an interface that takes nothing for kUnsentAfter) counts as lost on its way there: that
// way begins at the NIC.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "probes/datapath/packet_port.hpp"
#include "probes/watch/standing_keys.hpp"
#include "probes/watch/stream_losses.hpp"
#include "probes/watch/stream_tracer.hpp"

namespace weft::watch {

/// After it a probe that nobody answered is lost: the answer wait of all probes (datapath::Pace).
inline constexpr Nanoseconds kAnswerWait = std::chrono::milliseconds(200);
/// So many of one stream lost in a row are no chance: at 1 % of loss that is one in a million. With ten
/// probes a second it takes 0.3 s of a dead path, and kAnswerWait.
inline constexpr std::uint32_t kLostInARow = 3;
inline constexpr Nanoseconds kUnsentAfter = std::chrono::milliseconds(100);
/// A thread that is late by more was not scheduled: half the answer wait.
inline constexpr Nanoseconds kStallAfter = std::chrono::milliseconds(100);

class StandingProber {
 public:
  static constexpr std::size_t kMaxAtOnce = 64;

  /// References outlive it. `keys` are of the assignment that `schedule` is of.
  StandingProber(const StandingRun& run, const StandingKeys& keys, NicSchedule schedule,
                 const datapath::LocalNic& nic, const ProbeCodec& codec, Nanoseconds start);

  StandingProber(const StandingProber&) = delete;  // its tracer refers to it
  StandingProber& operator=(const StandingProber&) = delete;

  /// When compose() has something to give; a NIC without streams never has.
  Nanoseconds next_burst() const;
  /// The frames that are due, valid until the next call; after it sent() is called, also for none.
  std::span<const ByteSpan> compose(Nanoseconds now, const HopOfPeer& hop_of);
  /// The first `taken` of them went to the wire, one after the other between these times.
  void sent(std::size_t taken, Nanoseconds before, Nanoseconds after);
  /// Nothing was due from `since` on: the schedule goes on where it was.
  void skip_time(Nanoseconds since, Nanoseconds now) { start_ += now - since; }
  /// An authentic echo that came to this NIC at `at`.
  void take(const CarriedProbe& echo, Nanoseconds at);

  StreamTracer& tracer() { return tracer_; }

  /// One beyond the last probe handed out, and one beyond those whose answer wait is over.
  std::uint64_t next() const { return next_; }
  std::uint64_t decided(Nanoseconds now);
  /// A stream lost kLostInARow since this was asked last.
  bool lost_in_a_row() { return std::exchange(lost_in_a_row_, false); }
  /// Probes were given up unsent since this was asked last.
  bool gave_up() { return std::exchange(gave_up_, false); }
  /// What became of the probes behind the last end and before this one: those that have no answer are lost.
  /// `reports_delays`: of these streams.
  NicWindow close(std::uint64_t end, Nanoseconds now,
                  const std::function<bool(std::uint32_t)>& reports_delays);
  /// Of what was closed so far nothing was told, and nothing will be.
  void report_from_here() { reported_from_ = first_; }

 private:
  enum class State : std::uint8_t { waiting, answered, unsent };
  struct Sent {
    Nanoseconds stamp{};      // as the probe carries it
    std::uint32_t later = 0;  // ns from there until it left
    std::uint16_t count = 0;  // as its echo says
    State state = State::waiting;
  };
  struct Stream {
    std::uint64_t round = 0;  // of its next probe to be judged; its number is round * streams + stream
    std::uint32_t lost_in_a_row = 0;
    StreamLosses losses;
    LatencyHistogram rtt;
  };

  bool is_overdue(const Sent& probe, Nanoseconds now) const;
  std::size_t due(Nanoseconds now) const;
  void give_up_unsent(Nanoseconds now);
  ByteSpan frame_of(std::uint64_t number, std::size_t slot, const packet::MacAddress& hop, Nanoseconds now);
  std::optional<std::uint64_t> number_of(const packet::ProbeHeader& header) const;
  void judge(std::uint32_t stream, std::uint64_t end, Nanoseconds now);
  void note_settled();
  std::uint64_t number_at(std::uint64_t round, std::uint32_t stream) const;
  Sent& at(std::uint64_t number) { return probes_[number - first_]; }

  const StandingRun& run_;
  const StandingKeys& keys_;
  NicSchedule schedule_;
  const datapath::LocalNic& nic_;
  const ProbeCodec& codec_;
  BatchId batch_;
  Nanoseconds start_;
  Nanoseconds asked_;                // when compose() was called last
  std::uint64_t next_ = 0;           // probe to be sent
  std::uint64_t first_ = 0;          // not told yet
  std::uint64_t reported_from_ = 0;  // the first one that was told of
  std::uint64_t overdue_ = 0;        // one beyond those whose wait is over
  bool lost_in_a_row_ = false;
  bool gave_up_ = false;
  std::deque<Sent> probes_;  // from first_ to next_
  std::vector<Stream> streams_;
  std::map<std::uint64_t, LostWay> lost_;  // judged, not told yet
  std::vector<SettledProbe> settled_;      // of windows told already
  std::vector<SettledProbe> just_settled_;
  std::array<std::vector<std::byte>, kMaxAtOnce> frames_;
  std::vector<ByteSpan> composed_;  // of probes from next_ on
  std::uint16_t identification_;
  StreamTracer tracer_;
};

}  // namespace weft::watch
