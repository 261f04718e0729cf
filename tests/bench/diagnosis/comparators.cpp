#include "tests/bench/diagnosis/comparators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "topology/model/fabric.hpp"

namespace weft::bench {
namespace {

/// Observations by channel and back.
struct Table {
  std::vector<std::span<const ChannelId>> path;  // by observation
  std::vector<double> sent;
  std::vector<double> lost;
  std::vector<std::vector<std::uint32_t>> over;   // by channel
  std::vector<std::vector<std::uint32_t>> lossy;  // of these, those that lost something
};

Table table_of(const Fabric& fabric, const Run& run) {
  Table table;
  table.over.resize(fabric.channel_count());
  table.lossy.resize(fabric.channel_count());
  const PathTable& paths = run.observations.paths;
  for (const Observation& seen : run.observations.probes) {
    const auto i = static_cast<std::uint32_t>(table.path.size());
    table.path.push_back(paths.channels(paths.paths(seen.path).front()));
    table.sent.push_back(static_cast<double>(seen.sent));
    table.lost.push_back(static_cast<double>(seen.lost));
    for (const ChannelId channel : table.path.back()) {
      table.over[channel.value()].push_back(i);
      if (seen.lost > 0) table.lossy[channel.value()].push_back(i);
    }
  }
  return table;
}

constexpr std::size_t kMaxNamed = 60;
constexpr int kMaxSweeps = 25;     // of NetBouncer's coordinate descent
constexpr double kSettled = 1e-7;  // below any difference between its thresholds

/// Greedy: names the channel that explains most of what is not yet explained, until none gains `cost`.
Ranking flock(const Table& table, double good, double bad, double cost) {
  std::vector<double> flow(table.path.size());
  std::vector<double> gain(table.over.size(), 0.0);
  std::vector<int> covered(table.path.size(), 0);
  for (std::size_t i = 0; i < flow.size(); ++i) {
    flow[i] = table.lost[i] * std::log(bad / good) +
              (table.sent[i] - table.lost[i]) * std::log((1 - bad) / (1 - good));
    for (const ChannelId channel : table.path[i]) gain[channel.value()] += flow[i];
  }
  std::vector<char> named(gain.size(), 0);
  const auto flip = [&](std::uint32_t channel, bool on) {
    named[channel] = on;
    for (const std::uint32_t i : table.over[channel]) {
      const bool changes = on ? covered[i]++ == 0 : --covered[i] == 0;
      if (!changes) continue;
      for (const ChannelId other : table.path[i]) gain[other.value()] += on ? -flow[i] : flow[i];
    }
  };
  Ranking ranking;
  while (ranking.size() < kMaxNamed) {
    const auto best = std::ranges::max_element(gain);
    if (*best < cost) break;
    const auto channel = static_cast<std::uint32_t>(best - gain.begin());
    if (named[channel]) break;
    ranking.emplace_back(ChannelId(channel), *best);
    flip(channel, true);
    // One that the others explain by now goes again.
    std::erase_if(ranking, [&](const auto& entry) {
      double alone = 0;
      for (const std::uint32_t i : table.over[entry.first.value()]) alone += covered[i] == 1 ? flow[i] : 0;
      if (alone >= cost) return false;
      flip(entry.first.value(), false);
      return true;
    });
  }
  return ranking;
}

std::vector<double> netbouncer(const Table& table, double lambda) {
  std::vector<double> x(table.over.size(), 1.0);
  std::vector<double> y(table.path.size());
  std::vector<double> product(table.path.size(), 1.0);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = 1 - table.lost[i] / std::max(table.sent[i], 1.0);
  for (std::size_t c = 0; c < x.size(); ++c) {
    double sum = 0;
    for (const std::uint32_t i : table.over[c]) sum += y[i];
    if (!table.over[c].empty()) x[c] = sum / static_cast<double>(table.over[c].size());
  }
  for (std::size_t i = 0; i < y.size(); ++i)
    for (const ChannelId channel : table.path[i]) product[i] *= x[channel.value()];
  double moved = 1;
  for (int sweep = 0; sweep < kMaxSweeps && moved > kSettled; ++sweep) {
    moved = 0;
    for (std::size_t c = 0; c < x.size(); ++c) {
      double numerator = -0.5 * lambda;
      double denominator = -lambda;
      for (const std::uint32_t i : table.over[c]) {
        const double rest = product[i] / x[c];
        numerator += rest * y[i];
        denominator += rest * rest;
      }
      double next = denominator > 0 ? std::clamp(numerator / denominator, 1e-6, 1.0) : 1.0;
      if (table.over[c].empty()) next = 1.0;
      if (next == x[c]) continue;
      for (const std::uint32_t i : table.over[c]) product[i] *= next / x[c];
      moved = std::max(moved, std::abs(next - x[c]));
      x[c] = next;
    }
  }
  return x;
}

}  // namespace

std::map<std::string, Ranking> rank_007(const Fabric& fabric, const Run& run) {
  const Table table = table_of(fabric, run);
  std::vector<double> votes(table.over.size(), 0.0);
  double total = 0;
  for (std::size_t i = 0; i < table.path.size(); ++i)
    if (table.lost[i] > 0) {
      total += 1;
      for (const ChannelId c : table.path[i])
        votes[c.value()] += 1.0 / static_cast<double>(table.path[i].size());
    }
  std::vector<char> explained(table.path.size(), 0);
  Ranking ranking;
  while (ranking.size() < kMaxNamed && total > 0) {
    const auto best = std::ranges::max_element(votes);
    if (*best <= 0) break;
    const ChannelId channel(static_cast<std::uint32_t>(best - votes.begin()));
    const double share = *best / total;
    // A threshold is passed in the order of naming: later ones cannot outrank earlier ones.
    ranking.emplace_back(channel, ranking.empty() ? share : std::min(share, ranking.back().second));
    for (const std::uint32_t i : table.lossy[channel.value()]) {
      if (explained[i]) continue;
      explained[i] = 1;
      for (const ChannelId c : table.path[i])
        votes[c.value()] -= 1.0 / static_cast<double>(table.path[i].size());
    }
    votes[channel.value()] = -1;
  }
  return {{"", ranking}};
}

std::map<std::string, Ranking> rank_netbouncer(const Fabric& fabric, const Run& run) {
  const Table table = table_of(fabric, run);
  std::map<std::string, Ranking> rankings;
  for (const double lambda : {0.0, 1.0, 10.0}) {
    const auto x = netbouncer(table, lambda);
    Ranking& ranking = rankings[fmt::format("lambda {}", lambda)];
    for (std::uint32_t c = 0; c < x.size(); ++c)
      if (x[c] < 0.9999) ranking.emplace_back(ChannelId(c), 1 - x[c]);
  }
  return rankings;
}

std::map<std::string, Ranking> rank_flock(const Fabric& fabric, const Run& run) {
  const Table table = table_of(fabric, run);
  std::map<std::string, Ranking> rankings;
  for (const double good : {2e-4, 4e-4})
    for (const double bad : {1e-3, 2e-3, 5e-3})
      for (const double cost : {4.0, 6.0, 8.0, 10.0, 13.0, 17.0})
        rankings[fmt::format("p_g {}, p_b {}, prior {}", good, bad, cost)] = flock(table, good, bad, cost);
  return rankings;
}

}  // namespace weft::bench
