#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "tests/bench/diagnosis/score.hpp"
#include "topology/model/fabric.hpp"

namespace weft::bench {
namespace {

double nats(double n, double with, double without) {
  const double l1 = std::max(with, 1e-12);
  const double l0 = std::max(without, 1e-12);
  return n * (l1 * std::log(l1 / l0) - (l1 - l0));
}

struct Crossing {
  std::uint32_t index;  // of an observation, or a channel
  double share;         // of the observation's packets that cross the channel
};

/// Who crosses whom, both ways, and the true loss, of the observations that cross a channel near a fault.
struct Crossings {
  std::vector<std::vector<Crossing>> over;      // by channel
  std::vector<std::vector<Crossing>> channels;  // by observation
  std::vector<double> loss;                     // by observation
  std::vector<std::uint64_t> crossed_by;        // by channel: equal where the same observations cross alike
};

void add_share(std::vector<Crossing>& to, std::uint32_t index, double share) {
  const auto at = std::ranges::find(to, index, &Crossing::index);
  if (at == to.end())
    to.push_back({index, share});
  else
    at->share += share;
}

std::uint64_t mixed(std::uint64_t sum, const Crossing& crossing) {
  const auto share = static_cast<std::uint64_t>(std::llround(crossing.share * 1e6));
  return (sum ^ (share << 32 | crossing.index)) * 0x9E3779B97F4A7C15ull;
}

/// Calls `visit(channel, share)`; a channel of several paths comes once for each.
template <class Visit>
void for_each_crossing(const Observations& seen, const Observation& probe, Visit visit) {
  for (const auto& ways : {std::optional(probe.path), probe.back}) {
    if (!ways) continue;
    const auto members = seen.paths.paths(*ways);
    for (const PathId path : members)
      for (const ChannelId channel : seen.paths.channels(path))
        visit(channel.value(), 1.0 / static_cast<double>(members.size()));
  }
}

bool crosses_any(const Observations& seen, const Observation& probe, const std::vector<bool>& marked) {
  bool any = false;
  for_each_crossing(seen, probe, [&](std::uint32_t channel, double) { any = any || marked[channel]; });
  return any;
}

/// The faults, and the channels that an observation crosses together with one: all that matter.
std::vector<bool> near_faults(const Fabric& fabric, const Run& run) {
  const Observations& seen = run.observations;
  std::vector<bool> faulty(fabric.channel_count(), false);
  for (const ChannelId fault : run.faults) faulty[fault.value()] = true;
  std::vector<bool> near = faulty;
  for (const Observation& probe : seen.probes)
    if (crosses_any(seen, probe, faulty))
      for_each_crossing(seen, probe, [&](std::uint32_t channel, double) { near[channel] = true; });
  return near;
}

Crossings crossings_of(const Fabric& fabric, const Run& run) {
  const Observations& seen = run.observations;
  const std::vector<bool> near = near_faults(fabric, run);
  Crossings all;
  all.over.resize(fabric.channel_count());
  all.channels.resize(seen.probes.size());
  all.loss.assign(seen.probes.size(), 0.0);
  all.crossed_by.assign(fabric.channel_count(), 0);
  for (std::uint32_t i = 0; i < seen.probes.size(); ++i) {
    if (!crosses_any(seen, seen.probes[i], near)) continue;
    for_each_crossing(seen, seen.probes[i], [&](std::uint32_t channel, double share) {
      add_share(all.channels[i], channel, share);
    });
    for (const Crossing& crossing : all.channels[i]) {
      all.over[crossing.index].push_back({i, crossing.share});
      all.crossed_by[crossing.index] = mixed(all.crossed_by[crossing.index], {i, crossing.share});
      all.loss[i] += crossing.share * run.rate[crossing.index];
    }
  }
  return all;
}

/// What one fault's removal and its swaps cost.
class Swaps {
 public:
  Swaps(const Crossings& all, const std::vector<Observation>& probes)
      : all_(all), probes_(probes), share_(probes.size(), 0.0), near_(all.over.size(), 0) {}

  double least(std::uint32_t fault, double rate) {
    double removal = 0;
    std::vector<std::uint32_t> others;
    for (const Crossing& at : all_.over[fault]) {
      share_[at.index] = at.share;
      removal += cost(at.index, -at.share * rate);
      for (const Crossing& other : all_.channels[at.index])
        if (near_[other.index]++ == 0) others.push_back(other.index);
    }
    double least = removal;
    std::unordered_set<std::uint64_t> done{all_.crossed_by[fault]};  // of each class one
    for (const std::uint32_t other : others) {
      near_[other] = 0;
      if (done.insert(all_.crossed_by[other]).second)
        least = std::min(least, cost_of_swap(other, rate, removal, least));
    }
    for (const Crossing& at : all_.over[fault]) share_[at.index] = 0;
    return least;
  }

 private:
  double cost(std::uint32_t i, double change) const {
    return nats(static_cast<double>(probes_[i].sent), all_.loss[i], all_.loss[i] + change);
  }

  /// Stops where it is above `enough`.
  double cost_of_swap(std::uint32_t other, double rate, double removal, double enough) const {
    double kept = removal;
    double extra = 0;
    for (const Crossing& at : all_.over[other]) {
      const double own = share_[at.index];
      if (own > 0) kept += cost(at.index, (at.share - own) * rate) - cost(at.index, -own * rate);
      if (own == 0) extra += cost(at.index, at.share * rate);
      if (extra > enough) return extra;
    }
    return kept + extra;
  }

  const Crossings& all_;
  const std::vector<Observation>& probes_;
  std::vector<double> share_;        // by observation, of the fault in hand
  std::vector<std::uint32_t> near_;  // by channel: met with it
};

}  // namespace

std::vector<double> information(const Fabric& fabric, const Run& run) {
  const Crossings all = crossings_of(fabric, run);
  Swaps swaps(all, run.observations.probes);
  std::vector<double> result;
  for (const ChannelId fault : run.faults)
    result.push_back(swaps.least(fault.value(), run.rate[fault.value()]));
  return result;
}

}  // namespace weft::bench
