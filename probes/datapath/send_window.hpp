// SendWindow: what became of the packets of one QP of a transfer: which are on their way, which are taken for
// lost, how many were acknowledged. Pure.
#pragma once

#include <cstdint>
#include <deque>

#include "probes/datapath/sequence_window.hpp"
#include "topology/base/units.hpp"

namespace weft {

class SendWindow {
 public:
  explicit SendWindow(std::uint32_t packets) : wanted_(packets) {}

  /// How many may go now, with `window` on their way at most.
  std::uint32_t may_send(std::uint32_t window) const;
  std::uint32_t next_sequence() const { return next_; }
  void sent(Nanoseconds at);
  /// An acknowledgement; true when it is new. One packet arrives behind another on one path: what was sent
  /// well before `sequence` and has no acknowledgement is lost.
  bool acknowledged(std::uint32_t sequence);
  /// After a silence, everything on its way is taken for lost. Returns whether something was.
  bool give_up(Nanoseconds now);
  /// When give_up() will do something, if nothing is heard until then.
  Nanoseconds patience_ends() const;

  bool done() const { return delivered_ >= wanted_; }
  std::uint64_t delivered() const { return delivered_; }
  std::uint64_t sent_count() const { return next_; }

 private:
  std::uint32_t wanted_;
  std::uint32_t next_ = 0;
  std::uint64_t delivered_ = 0;
  std::deque<std::uint32_t> on_their_way_;  // ascending
  SequenceWindow heard_;
  Nanoseconds last_event_{};  // the last packet sent, or acknowledged
  Nanoseconds patience_ = kPatience;

  // About what TCP waits at the least: a peer that is not scheduled for a while is no loss.
  static constexpr Nanoseconds kPatience = std::chrono::milliseconds(250);
};

}  // namespace weft
