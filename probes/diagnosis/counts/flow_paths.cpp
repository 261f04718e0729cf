#include "probes/diagnosis/counts/flow_paths.hpp"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

constexpr double kBackground = 1e-4;  // of what no known fault loses
/// Packets that tell: estimates of losses are not exact, and what more would say is taken as said.
constexpr double kPackets = 100.0;
constexpr double kFarBehind = 7.0;  // nats: a path this much worse than the best one was not taken

double loss_over(std::span<const ChannelId> path, Bytes size, const std::vector<FlowLoss>& by_channel) {
  double pass = 1 - kBackground;
  for (const ChannelId channel : path) {
    const FlowLoss& loss = by_channel[channel.value()];
    if (size > loss.passes) pass *= 1 - loss.share;
  }
  return std::clamp(1 - pass, kBackground, 1 - kBackground);
}

double log_likelihood(const Counts& counts, double loss) {
  const double n = std::min(static_cast<double>(counts.n), kPackets);
  const double k = static_cast<double>(counts.k) * n / static_cast<double>(counts.n);
  return k * std::log(loss) + (n - k) * std::log1p(-loss);
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
    double mean = 0;
    for (const PathId path : paths) {
      const double loss = loss_over(table.channels(path), probe.size, by_channel);
      fits.push_back(log_likelihood(counts, loss));
      mean += loss / static_cast<double>(paths.size());
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

}  // namespace weft
