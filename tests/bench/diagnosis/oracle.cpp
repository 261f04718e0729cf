#include "tests/bench/diagnosis/oracle.hpp"

#include <algorithm>
#include <cmath>

#include "topology/model/fabric.hpp"

namespace weft::bench {
namespace {

constexpr int kSteps = 24;
constexpr double kMinOdds = -7;  // log: below one in a thousand nobody names anything

struct Lossy {
  double others;  // loss by the other channels
  double lost;
};

/// ln of the mean of exp(log-likelihood) over losses of the channel between `low` and `high`.
double mean_likelihood(const std::vector<Lossy>& rows, double sent, double low, double high) {
  std::vector<double> logs;
  for (int step = 0; step < kSteps; ++step) {
    const double rate = low + (high - low) * (step + 0.5) / kSteps;
    double sum = -sent * rate;
    for (const Lossy& row : rows) sum += row.lost * std::log(row.others + rate);
    logs.push_back(sum);
  }
  const double top = std::ranges::max(logs);
  double total = 0;
  for (const double log : logs) total += std::exp(log - top);
  return top + std::log(total / kSteps);
}

}  // namespace

Ranking rank_oracle(const Fabric& fabric, const Run& run, const Scenario& scenario, Knows knows) {
  const Observations& seen = run.observations;
  const double usual = 0.5 * scenario.background;
  const auto is_fault = [&](ChannelId c) { return std::ranges::binary_search(run.faults, c); };
  const auto known = [&](ChannelId c) {
    return knows == Knows::everything || is_fault(c) ? run.rate[c.value()] : usual;
  };
  std::vector<std::vector<Lossy>> rows(fabric.channel_count());
  std::vector<double> sent(fabric.channel_count(), 0.0);
  for (const Observation& probe : seen.probes) {
    const auto path = seen.paths.channels(seen.paths.paths(probe.path).front());
    double loss = 0;
    for (const ChannelId c : path) {
      loss += known(c);
      sent[c.value()] += static_cast<double>(probe.sent);
    }
    if (probe.lost == 0) continue;
    for (const ChannelId c : path)
      rows[c.value()].push_back({std::max(loss - known(c), 1e-12), static_cast<double>(probe.lost)});
  }
  const auto may_fail = [&](std::uint32_t c) {  // what is removed, nothing crosses
    return sent[c] > 0 &&
           fabric.between_switches(ChannelId(c)) == (scenario.kind == FaultyKind::switch_channels);
  };
  double candidates = 0;
  for (std::uint32_t c = 0; c < rows.size(); ++c) candidates += may_fail(c) ? 1 : 0;
  const double faults = 0.5 * static_cast<double>(scenario.most_faults);
  const double prior = std::log(faults / (candidates - faults));
  Ranking ranking;
  for (std::uint32_t c = 0; c < rows.size(); ++c) {
    if (!may_fail(c)) continue;
    const double odds =
        prior + mean_likelihood(rows[c], sent[c], usual + scenario.least_loss, usual + scenario.most_loss) -
        mean_likelihood(rows[c], sent[c], 0, scenario.background);
    if (odds > kMinOdds) ranking.emplace_back(ChannelId(c), odds);
  }
  return ranking;
}

}  // namespace weft::bench
