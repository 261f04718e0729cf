// Pacer: when the next packet of a stream may go. Packets are due one interval apart; a sender that came late
// may catch up with at most `burst` at once, and what it missed beyond that is not sent later, so that a
// stalled host never floods a queue. Pure: the caller brings the time.
#pragma once

#include <algorithm>
#include <cstddef>

#include "topology/base/check.hpp"
#include "topology/base/units.hpp"

namespace weft::datapath {

class Pacer {
 public:
  /// `interval` zero: no pace, always a whole burst. `burst` is at least 1.
  Pacer(Nanoseconds interval, std::size_t burst, Nanoseconds start)
      : interval_(interval), burst_(static_cast<std::int64_t>(burst)), due_(start) {
    WEFT_CHECK(interval.count() >= 0 && burst >= 1);
  }

  /// How many packets may go now.
  std::size_t allowance(Nanoseconds now) {
    if (interval_.count() == 0) return static_cast<std::size_t>(burst_);
    due_ = std::max(due_, now - interval_ * (burst_ - 1));
    return now < due_ ? 0 : static_cast<std::size_t>((now - due_) / interval_ + 1);
  }
  void sent(std::size_t packets) { due_ += interval_ * static_cast<std::int64_t>(packets); }
  /// When the next packet is due.
  Nanoseconds next() const { return due_; }

 private:
  Nanoseconds interval_;
  std::int64_t burst_;
  Nanoseconds due_;
};

}  // namespace weft::datapath
