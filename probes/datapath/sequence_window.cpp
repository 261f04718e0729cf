#include "probes/datapath/sequence_window.hpp"

#include <algorithm>

namespace weft::datapath {
namespace {

// As TCP (RFC 5681, section 3.2): three later ones say that a packet is lost, not late.
constexpr std::uint32_t kOvertaken = 3;
constexpr Nanoseconds kMaxPatience = std::chrono::milliseconds(800);

}  // namespace

std::uint32_t SendWindow::may_send(std::uint32_t window) const {
  const auto out = static_cast<std::uint32_t>(on_their_way_.size());
  if (done() || out >= window) return 0;
  const auto missing = wanted_ - static_cast<std::uint32_t>(delivered_);
  return missing > out ? std::min(window - out, missing - out) : 0;
}

void SendWindow::sent(Nanoseconds at) {
  on_their_way_.push_back(next_++);
  last_event_ = at;
}

bool SendWindow::acknowledged(std::uint32_t sequence) {
  if (sequence >= next_ || !heard_.insert(sequence)) return false;
  ++delivered_;
  patience_ = kPatience;
  const auto at = std::ranges::lower_bound(on_their_way_, sequence);
  if (at != on_their_way_.end() && *at == sequence) on_their_way_.erase(at);
  while (!on_their_way_.empty() && on_their_way_.front() + kOvertaken <= sequence) on_their_way_.pop_front();
  return true;
}

Nanoseconds SendWindow::patience_ends() const { return last_event_ + patience_; }

bool SendWindow::give_up(Nanoseconds now) {
  if (on_their_way_.empty() || now < patience_ends()) return false;
  on_their_way_.clear();
  patience_ = std::min(patience_ * 2, kMaxPatience);
  return true;
}

}  // namespace weft::datapath
