#include "probes/watch/stream_losses.hpp"

#include <algorithm>

namespace weft::watch {
namespace {

/// A count that is a little behind the last one is of a probe that overtook others; counts wrap at 65,536.
constexpr int kOvertaken = 64;

int step(std::uint16_t from, std::uint16_t to) {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(to - from));
}

}  // namespace

void StreamLosses::lost(std::uint64_t number) {
  if (!known_ || too_many_) return;  // nothing to compare the next count with
  if (unsettled_.size() < kMaxUnsettled) return unsettled_.push_back(number);
  too_many_ = true;
  unsettled_.clear();
}

void StreamLosses::answered(std::uint16_t count, std::span<const std::uint16_t> later,
                            std::vector<SettledProbe>& settled) {
  const int grown = step(last_, count);
  const bool overtaken = known_ && grown <= 0 && grown > -kOvertaken;
  if (overtaken) return;  // the next echo tells
  const auto between = std::ranges::count_if(later, [&](std::uint16_t other) {
    const int at = step(last_, other);
    return at > 0 && at < grown;
  });
  const auto there_and_lost = grown - 1 - static_cast<int>(between);
  // A count that fits no story: the peer began anew. The losses stay open.
  const bool fits =
      known_ && !too_many_ && there_and_lost >= 0 && there_and_lost <= static_cast<int>(unsettled_.size());
  if (fits) {
    const auto never_came = unsettled_.size() - static_cast<std::size_t>(there_and_lost);
    for (std::size_t i = 0; i < unsettled_.size(); ++i)
      settled.push_back({unsettled_[i], i < never_came ? LostWay::there : LostWay::back});
  }
  unsettled_.clear();
  known_ = true;
  too_many_ = false;
  last_ = count;
}

}  // namespace weft::watch
