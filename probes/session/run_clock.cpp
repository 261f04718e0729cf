#include "probes/session/run_clock.hpp"

#include <algorithm>
#include <vector>

#include "topology/base/statistics.hpp"

namespace weft::session {
namespace {

/// Agents begin a wave within milliseconds of each other; a clock this far from the others' has been set.
constexpr Nanoseconds kMaxApart = std::chrono::seconds(1);

/// Longer than any run: what a clock that lies may claim.
constexpr Nanoseconds kMaxRun = std::chrono::hours(24 * 7);

}  // namespace

void RunClock::begin_wave(const std::map<PortId, Nanoseconds>& first_sends) {
  std::vector<Nanoseconds> told;
  for (const auto& [nic, first] : first_sends)
    if (const auto known = ahead_.find(nic); known != ahead_.end()) told.push_back(first + known->second);
  Nanoseconds begin = told.empty() ? latest_ : median(told);
  // Where most clocks jumped, a wave still follows on those before it.
  if (begin < latest_ - kMaxApart) begin = latest_;
  for (const auto& [nic, first] : first_sends) {
    const auto [known, is_new] = ahead_.try_emplace(nic, begin - first);
    if (!is_new && std::chrono::abs(first + known->second - begin) > kMaxApart) known->second = begin - first;
  }
}

std::optional<TimeWindow> RunClock::window(PortId nic, const TimeWindow& by_its_clock) {
  const auto known = ahead_.find(nic);
  if (known == ahead_.end()) return std::nullopt;
  const TimeWindow window{std::clamp(by_its_clock.start + known->second, Nanoseconds(0), kMaxRun),
                          std::min(by_its_clock.length, kMaxRun)};
  latest_ = std::max(latest_, window.start + window.length);
  return window;
}

}  // namespace weft::session
