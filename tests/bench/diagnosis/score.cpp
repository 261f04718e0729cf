#include "tests/bench/diagnosis/score.hpp"

#include <algorithm>
#include <cmath>

namespace weft::bench {
namespace {

double nats(double n, double with, double without) {
  const double l1 = std::max(with, 1e-12);
  const double l0 = std::max(without, 1e-12);
  return n * (l1 * std::log(l1 / l0) - (l1 - l0));
}

template <std::size_t N>
std::size_t band_of(const std::array<double, N>& from, double value) {
  std::size_t band = 0;
  while (band + 1 < N && value >= from[band + 1]) ++band;
  return band;
}

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

Names names_of(const Diagnosis& diagnosis) {
  Names names;
  for (const LinkFinding& finding : diagnosis.links) {
    std::vector<ChannelId> channels{Fabric::a_to_b(finding.link), Fabric::b_to_a(finding.link)};
    if (finding.channel) channels = {*finding.channel};
    for (const ChannelId channel : channels) {
      names.stated.emplace_back(channel, finding.confidence);
      if (finding.verdict != Verdict::unknown) names.channels.push_back(channel);
    }
  }
  for (const auto& finding : diagnosis.hosts) names.others += finding.verdict != Verdict::unknown;
  for (const auto& finding : diagnosis.groups) names.others += finding.verdict != Verdict::unknown;
  return names;
}

std::vector<double> information(const Fabric& fabric, const Run& run) {
  const Observations& seen = run.observations;
  std::vector<std::vector<std::uint32_t>> over(fabric.channel_count());
  std::vector<double> loss(seen.probes.size(), 0.0);
  for (std::uint32_t i = 0; i < seen.probes.size(); ++i)
    for (const ChannelId channel : seen.paths.channels(seen.paths.paths(seen.probes[i].path).front())) {
      over[channel.value()].push_back(i);
      loss[i] += run.rate[channel.value()];
    }
  std::vector<double> result;
  std::vector<double> saved(fabric.channel_count(),
                            0.0);  // of the cost of removal, where the other crosses too
  std::vector<std::uint32_t> common(fabric.channel_count(), 0);
  for (const ChannelId fault : run.faults) {
    const double rate = run.rate[fault.value()];
    double removal = 0;
    std::vector<ChannelId> near;
    for (const std::uint32_t i : over[fault.value()]) {
      const double cost = nats(static_cast<double>(seen.probes[i].sent), loss[i], loss[i] - rate);
      removal += cost;
      for (const ChannelId other : seen.paths.channels(seen.paths.paths(seen.probes[i].path).front())) {
        if (common[other.value()]++ == 0) near.push_back(other);
        saved[other.value()] += cost;
      }
    }
    double least = removal;
    std::vector<char> mine(seen.probes.size(), 0);
    for (const std::uint32_t i : over[fault.value()]) mine[i] = 1;
    for (const ChannelId other : near) {
      double swap = removal - saved[other.value()];
      if (other != fault && swap < least) {
        for (const std::uint32_t i : over[other.value()])
          if (mine[i] == 0) swap += nats(static_cast<double>(seen.probes[i].sent), loss[i], loss[i] + rate);
        least = std::min(least, swap);
      }
      saved[other.value()] = 0;
      common[other.value()] = 0;
    }
    result.push_back(least);
  }
  return result;
}

void Score::add(const Run& run, const Names& names, const std::vector<double>& information) {
  ++seeds;
  const auto is_fault = [&](ChannelId c) { return std::ranges::binary_search(run.faults, c); };
  std::size_t missed_names = names.others;
  for (const ChannelId channel : names.channels) missed_names += is_fault(channel) ? 0 : 1;
  wrong += missed_names;
  wrong_seeds += missed_names > 0 ? 1 : 0;
  for (std::size_t i = 0; i < run.faults.size(); ++i) {
    const bool found = std::ranges::find(names.channels, run.faults[i]) != names.channels.end();
    ++faults;
    right += found ? 1 : 0;
    if (information.empty()) continue;
    const std::size_t band = band_of(kBands, information[i]);
    ++in_band[band];
    right_in_band[band] += found ? 1 : 0;
  }
  for (const auto& [channel, stated] : names.stated) {
    const std::size_t bin = band_of(kBins, stated);
    ++in_bin[bin];
    true_in_bin[bin] += is_fault(channel) ? 1 : 0;
    stated_in_bin[bin] += stated;
    right_at_090 += stated >= 0.9 && is_fault(channel) ? 1 : 0;
  }
}

double Score::precision() const { return share(right, right + wrong); }
double Score::recall() const { return share(right, faults); }
double Score::recall_in_band(std::size_t band) const { return share(right_in_band[band], in_band[band]); }
double Score::f1() const {
  const double p = precision();
  const double r = recall();
  return p + r == 0 ? 0 : 2 * p * r / (p + r);
}

}  // namespace weft::bench
