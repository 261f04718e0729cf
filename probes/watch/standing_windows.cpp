#include "probes/watch/standing_windows.hpp"

#include <algorithm>
#include <utility>

namespace weft::watch {

StandingWindows::Ended StandingWindows::decided(const Nics& nics, Nanoseconds now) {
  Ended ended{now - kAnswerWait, {}};
  for (const auto& [index, nic] : nics) ended.ends[index] = nic->decided(now);
  return ended;
}

std::optional<Window> StandingWindows::next(const Nics& nics, Nanoseconds now, const DroppedOf& dropped) {
  auto at_hand = decided(nics, now);
  for (const auto& [index, nic] : nics) alarmed_ |= nic->lost_in_a_row();
  if (reports_from_) {
    if (now < *reports_from_) return std::nullopt;
    close(nics, at_hand, now, dropped);
    for (const auto& [index, nic] : nics) nic->report_from_here();
    reports_from_.reset();
    stalled_ = false;
    return std::nullopt;
  }
  if (waiting_) {
    if (now < waiting_->at + kAnswerWait) return std::nullopt;
    return close(nics, *std::exchange(waiting_, std::nullopt), now, dropped);
  }
  if (alarmed_ && at_hand.at - begin_ >= kMinWindow) {
    alarmed_ = false;
    return close(nics, at_hand, now, dropped);
  }
  if (now - begin_ >= kWindow) {
    waiting_.emplace(Ended{now, {}});
    for (const auto& [index, nic] : nics) waiting_->ends[index] = nic->next();
  }
  return std::nullopt;
}

std::optional<Window> StandingWindows::last(const Nics& nics, Nanoseconds now, const DroppedOf& dropped) {
  if (reports_from_) return std::nullopt;
  return close(nics, decided(nics, now), now, dropped);
}

/// What was dropped at the end of a window is among the losses of the next one.
std::uint32_t StandingWindows::dropped_among(std::uint32_t nic, std::uint64_t lost, std::uint64_t dropped) {
  auto& left = dropped_before_[nic];
  const auto told = std::min<std::uint64_t>({left + dropped, lost, kMaxProbesOfWindow});
  left = std::min(left + dropped - told, dropped);
  return static_cast<std::uint32_t>(told);
}

Window StandingWindows::close(const Nics& nics, const Ended& ended, Nanoseconds now,
                              const DroppedOf& dropped) {
  Window window{.plan = plan_,
                .begin = begin_ - epoch_,
                .length = std::max(ended.at - begin_, Nanoseconds(0)),
                .stalled = std::exchange(stalled_, false)};
  const auto tells = [this](std::uint32_t stream) { return stream % kDelaysEvery == turn_; };
  for (const auto& [index, nic] : nics) {
    const auto end = ended.ends.find(index);
    if (end == ended.ends.end()) continue;  // it was opened since
    auto part = nic->close(end->second, now, tells);
    part.nic = index;
    part.dropped = dropped_among(index, part.lost.size(), dropped(index));
    window.nics.push_back(std::move(part));
  }
  turn_ = (turn_ + 1) % kDelaysEvery;
  begin_ = std::max(begin_, ended.at);
  return window;
}

}  // namespace weft::watch
