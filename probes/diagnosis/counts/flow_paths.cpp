#include "probes/diagnosis/counts/flow_paths.hpp"

#include <algorithm>
#include <cmath>

namespace weft::diagnosis {
namespace {

constexpr double kBackground = 1e-4;  // of what no known fault loses
constexpr double kAll = 7.0;          // hazard of what lets nothing through: a packet in a thousand
constexpr double kInexact = 1.5;      // times a hazard: estimates of losses are not exact
constexpr double kFarBehind = 7.0;    // nats: a path this much worse than the best one was not taken

/// The share of packets that a path loses lies in it.
struct Range {
  double low = 0, high = 0;
};

Range loss_over(std::span<const ChannelId> path, Bytes size, const std::vector<FlowLoss>& by_channel) {
  double hazard = 0, sure = 0;
  std::vector<std::uint32_t> counted;
  for (const ChannelId channel : path) {
    const FlowLoss& loss = by_channel[channel.value()];
    if (loss.share == 0 || size <= loss.passes || std::ranges::find(counted, loss.finding) != counted.end())
      continue;
    counted.push_back(loss.finding);
    const double its = loss.share < 1 ? std::min(-std::log1p(-loss.share), kAll) : kAll;
    hazard += its;
    if (!loss.one_of) sure += its;
  }
  const double high = hazard * kInexact + kBackground;
  return {-std::expm1(-sure / kInexact), high > kAll ? 1.0 : -std::expm1(-high)};
}

/// With the loss of the range that fits best.
double log_likelihood(const Counts& counts, const Range& range) {
  const auto n = static_cast<double>(counts.n), k = static_cast<double>(counts.k);
  const double loss = std::clamp(k / n, range.low, range.high);
  return (k > 0 ? k * std::log(loss) : 0.0) + (n > k ? (n - k) * std::log1p(-loss) : 0.0);
}

}  // namespace

bool narrow_paths(Observations& observations, Counted counted, const std::vector<FlowLoss>& by_channel) {
  PathTable& table = observations.paths;
  bool changed = false;
  std::vector<double> fits;
  std::vector<PathId> kept;
  for (Observation& probe : observations.probes) {
    const auto paths = table.paths(probe.path);
    const Counts counts = counts_of(probe, counted);
    if (paths.size() < 2 || probe.back || counts.n == 0) continue;
    fits.clear();
    Range mean;
    for (const PathId path : paths) {
      const Range loss = loss_over(table.channels(path), probe.size, by_channel);
      fits.push_back(log_likelihood(counts, loss));
      mean.low += loss.low / static_cast<double>(paths.size());
      mean.high += loss.high / static_cast<double>(paths.size());
    }
    const double best = std::ranges::max(fits);
    if (log_likelihood(counts, mean) >= best) continue;
    kept.clear();
    for (std::size_t i = 0; i < paths.size(); ++i)
      if (fits[i] > best - kFarBehind) kept.push_back(paths[i]);
    if (kept.size() == paths.size()) continue;
    probe.path = table.intern_set(kept);
    changed = true;
  }
  return changed;
}

}  // namespace weft::diagnosis
