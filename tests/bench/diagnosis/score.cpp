#include "tests/bench/diagnosis/score.hpp"

#include <algorithm>
#include <cmath>

#include "topology/model/fabric.hpp"

namespace weft::bench {
namespace {

template <std::size_t N>
std::size_t place_in(const std::array<double, N>& from, double value) {
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

std::size_t Score::band_of(double nats) { return place_in(kBands, nats); }

void Score::add(const std::vector<ChannelId>& truth, const Names& names,
                const std::vector<double>& information) {
  ++seeds;
  const auto is_fault = [&](ChannelId c) { return std::ranges::binary_search(truth, c); };
  std::size_t missed_names = names.others;
  for (const ChannelId channel : names.channels) missed_names += is_fault(channel) ? 0 : 1;
  wrong += missed_names;
  wrong_seeds += missed_names > 0 ? 1 : 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const bool found = std::ranges::find(names.channels, truth[i]) != names.channels.end();
    ++faults;
    right += found ? 1 : 0;
    if (information.empty()) continue;
    const std::size_t band = band_of(information[i]);
    ++in_band[band];
    right_in_band[band] += found ? 1 : 0;
  }
  for (const auto& [channel, stated] : names.stated) {
    const std::size_t bin = place_in(kBins, stated);
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
