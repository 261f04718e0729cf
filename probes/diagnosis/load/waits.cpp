#include "probes/diagnosis/load/waits.hpp"

#include <algorithm>
#include <cmath>

#include "topology/base/statistics.hpp"

namespace weft {
namespace {

constexpr Bytes kSmall(1024);       // a large probe may wait for its own time on a slow cable
constexpr std::size_t kMin = 4;     // round trips over a channel to speak of
constexpr double kMinSpread = 0.2;  // of ln p99: what a scheduler's whims do to the slowest probe
constexpr double kMaxNats = 12.0;   // as much as a few load rounds
constexpr double kMax = 7.0;  // waits up to e^7, a thousand times the usual, are as likely as each other

double log_p99(const Observation& seen) {
  return std::log(std::max(static_cast<double>(seen.rtt->p99.count()) / 1000.0, 0.1));
}

bool counts(const Observation& seen) { return seen.rtt && seen.size <= kSmall; }

bool crosses(const PathTable& table, const Observation& seen, ChannelId channel) {
  for (const auto& ways : {std::optional(seen.path), seen.back}) {
    if (!ways) continue;
    const auto paths = table.paths(*ways);
    if (paths.size() == 1 &&
        std::ranges::find(table.channels(paths[0]), channel) != table.channels(paths[0]).end())
      return true;
  }
  return false;
}

}  // namespace

Waits::Waits(const Observations& observations) : observations_(observations) {
  std::vector<double> all;
  for (const Observation& seen : observations.probes)
    if (counts(seen)) all.push_back(log_p99(seen));
  if (all.empty()) return;
  usual_ = median(all);
  spread_ = std::max(spread_about(all, usual_), kMinSpread);
}

double Waits::log_ratio(ChannelId channel) const {
  if (spread_ == 0) return 0;
  const auto [at, is_new] = known_.try_emplace(channel, 0.0);
  if (!is_new) return at->second;
  std::vector<double> over;
  for (const Observation& seen : observations_.probes)
    if (counts(seen) && crosses(observations_.paths, seen, channel)) over.push_back(log_p99(seen));
  if (over.size() < kMin) return 0;
  const double shift = median(over) - usual_;
  // Congested half of the time it is seen: a wait of any length, or none. The median's own scatter is far
  // below the spread of single round trips; the spread is kept, because neighbours share their hosts' whims.
  const double waiting = shift > 0 && shift < kMax ? 1.0 / kMax : 0.0;
  const double none = std::exp(log_student(shift, spread_));
  at->second = std::min(std::log((0.5 * waiting + 0.5 * none) / none), kMaxNats);
  return at->second;
}

}  // namespace weft
