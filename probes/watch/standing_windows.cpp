#include "probes/watch/standing_windows.hpp"

#include <algorithm>
#include <utility>

namespace weft::watch {

StandingWindows::Ended StandingWindows::decided(const Nics& nics, Nanoseconds read) {
  Ended ended{read - kAnswerWait, {}};
  for (const auto& [index, nic] : nics) ended.ends[index] = nic->decided(read);
  return ended;
}

std::optional<Window> StandingWindows::next(const Nics& nics, LookTimes look, const DroppedOf& dropped) {
  auto at_hand = decided(nics, look.read);
  for (const auto& [index, nic] : nics) alarmed_ |= nic->lost_in_a_row();
  if (reports_from_) {
    if (look.read < *reports_from_) return std::nullopt;
    auto window = close(nics, at_hand, look.read, dropped);
    for (const auto& [index, nic] : nics) nic->report_from_here();
    reports_from_.reset();
    // Of the time before, peers may not have had the plan; of a stall in it others' probes were late.
    return window.stalled ? std::optional(std::move(window)) : std::nullopt;
  }
  if (waiting_) {
    if (look.read < waiting_->at + kAnswerWait) return std::nullopt;
    return close(nics, *std::exchange(waiting_, std::nullopt), look.read, dropped);
  }
  if (alarmed_ && at_hand.at - begin_ >= kMinWindow) {
    alarmed_ = false;
    return close(nics, at_hand, look.read, dropped);
  }
  if (look.now - begin_ >= kWindow) {
    waiting_.emplace(Ended{look.now, {}});
    for (const auto& [index, nic] : nics) waiting_->ends[index] = nic->next();
  }
  return std::nullopt;
}

std::optional<Window> StandingWindows::last(const Nics& nics, Nanoseconds read, const DroppedOf& dropped) {
  auto ended = decided(nics, read);
  if (stall_) ended.at = std::max(ended.at, stall_->until);
  if (reports_from_ && !meets(stall_, ended.at)) return std::nullopt;
  return close(nics, ended, read, dropped);
}

void StandingWindows::stalled(Nanoseconds from, Nanoseconds until) { extend(stall_, from, until); }

void StandingWindows::refused(std::uint32_t nic, Nanoseconds from, Nanoseconds until) {
  extend(refused_[nic], from, until);
}

void StandingWindows::extend(std::optional<Stall>& stall, Nanoseconds from, Nanoseconds until) const {
  const bool is_past = !stall || stall->until < begin_;
  stall = is_past ? Stall{from, until} : Stall{std::min(stall->from, from), std::max(stall->until, until)};
}

/// Probes of others may be among what was dropped, so all of it is told. What was dropped at the end of a
/// window is among the losses of the next one.
std::uint32_t StandingWindows::dropped_among(std::uint32_t nic, std::uint64_t lost, std::uint64_t dropped) {
  auto& left = dropped_before_[nic];
  const auto of_own = std::min(left + dropped, lost);
  left = std::min(left + dropped - of_own, dropped);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(std::max(of_own, dropped), kMaxProbesOfWindow));
}

Window StandingWindows::close(const Nics& nics, const Ended& ended, Nanoseconds read,
                              const DroppedOf& dropped) {
  Window window{.plan = plan_,
                .begin = begin_ - epoch_,
                .length = std::max(ended.at - begin_, Nanoseconds(0)),
                .stalled = meets(stall_, ended.at)};
  const auto tells = [this](std::uint32_t stream) { return stream % kDelaysEvery == turn_; };
  for (const auto& [index, nic] : nics) {
    const auto end = ended.ends.find(index);
    if (end == ended.ends.end()) continue;  // it was opened since
    auto part = nic->close(end->second, read, tells);
    part.nic = index;
    part.dropped = dropped_among(index, part.lost.size(), dropped(index));
    if (const auto at = refused_.find(index); at != refused_.end() && meets(at->second, ended.at))
      part.dropped = std::max(part.dropped, 1u);
    window.nics.push_back(std::move(part));
  }
  turn_ = (turn_ + 1) % kDelaysEvery;
  begin_ = std::max(begin_, ended.at);
  return window;
}

}  // namespace weft::watch
