// Windows over the sequence numbers of a stream: SequenceWindow, which of them have come; SendWindow, what
// became of those that were sent. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "topology/base/units.hpp"

namespace weft::datapath {

/// As in IPsec's anti-replay (RFC 4303, 3.4.3): a bitmap over the last 1,024 numbers up to the highest. A
/// number below it counts as come, so memory is fixed and a replay is never new; a packet that 1,024 younger
/// ones of its own stream overtook is taken for one (0.7 s at 50 Mbit/s of 4 KB).
class SequenceWindow {
 public:
  static constexpr std::uint32_t kWidth = 1024;

  /// Notes `sequence`; true when it had not come before.
  bool insert(std::uint32_t sequence) {
    if (sequence >= next_) slide(sequence);
    if (next_ - sequence > kWidth) return false;
    auto& word = words_[sequence / 64 % words_.size()];
    const auto bit = std::uint64_t{1} << sequence % 64;
    const bool is_new = (word & bit) == 0;
    word |= bit;
    return is_new;
  }

 private:
  /// Makes `highest` the last of the window: what falls out is forgotten.
  void slide(std::uint32_t highest) {
    if (highest - next_ >= kWidth)
      words_.fill(0);
    else
      for (auto at = next_; at <= highest; ++at)
        words_[at / 64 % words_.size()] &= ~(std::uint64_t{1} << at % 64);
    next_ = std::uint64_t{highest} + 1;
  }

  std::array<std::uint64_t, kWidth / 64> words_{};
  std::uint64_t next_ = 0;  // one beyond the highest that came
};

/// What became of the packets of one QP of a transfer: which are on their way, which are taken for lost, how
/// many were acknowledged.
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

}  // namespace weft::datapath
