#include "collectors/compare/measured_fabric.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "collectors/compare/comparison.hpp"
#include "topology/base/statistics.hpp"

namespace weft::compare {
namespace {

/// More than a channel carries by the margin within which fabrics are equal.
constexpr double kMinLoad = 1 + Settings{}.margin;

std::vector<double> rates_of(const MeasuredRun& run) {
  std::vector<double> rates(run.channels.size(), run.line_rate > 0 ? run.line_rate : 1);
  if (run.built)
    for (std::size_t c = 0; c < rates.size(); ++c)
      if (const auto at = run.built->channels.find(run.channels[c]);
          at != run.built->channels.end() && at->second.rate > 0)
        rates[c] = at->second.rate;
  return rates;
}

/// Adds the loads of all rounds; returns how many rounds there were.
std::size_t add_loads(const MeasuredRun& run, std::map<std::string, double>& sums) {
  const auto rates = rates_of(run);
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> crossing;  // flows, by round and channel
  std::set<std::uint32_t> rounds;
  for (const MeasuredFlow& flow : run.flows) {
    rounds.insert(flow.round);
    for (const std::uint32_t channel : flow.path) ++crossing[{flow.round, channel}];
  }
  for (const MeasuredFlow& flow : run.flows) {
    if (flow.path.empty()) continue;
    double right = std::numeric_limits<double>::infinity();
    for (const std::uint32_t channel : flow.path)
      right = std::min(right, rates[channel] / crossing[{flow.round, channel}]);
    // A sweep asks for a share of the right that a flow has among others.
    const double alone = flow.wanted / right * rates[flow.path.front()];
    for (const std::uint32_t channel : flow.path) sums[run.channels[channel]] += alone / rates[channel];
  }
  return rounds.size();
}

}  // namespace

std::vector<QueuedPlace> longest_queues(std::span<const MeasuredRun> runs) {
  constexpr std::size_t kMost = 3;
  std::map<std::string, std::vector<double>> waits;
  for (const MeasuredRun& run : runs)
    for (const QueuedPlace& queue : run.queues) waits[queue.place].push_back(queue.wait);
  std::vector<QueuedPlace> longest;
  for (auto& [place, all] : waits)
    if (2 * all.size() >= runs.size()) longest.push_back({place, median(all)});
  std::ranges::sort(longest, std::greater(),
                    [](const QueuedPlace& queue) { return std::pair(queue.wait, queue.place); });
  longest.resize(std::min(longest.size(), kMost));
  return longest;
}

MeasuredFabric measured_fabric(std::string fabric, std::span<const MeasuredRun> runs) {
  MeasuredFabric measured{
      .fabric = std::move(fabric), .crossed = {}, .loads = {}, .queues = longest_queues(runs)};
  std::set<std::string> crossed;
  std::map<std::string, double> sums;
  std::size_t rounds = 0;
  for (const MeasuredRun& run : runs) {
    const auto take = [&](const ChannelPath& path) {
      for (const std::uint32_t channel : path) crossed.insert(run.channels[channel]);
    };
    for (const MeasuredFlow& flow : run.flows) take(flow.path);
    for (const RoundTrip& trip : run.trips) take(trip.path);
    for (const ProbedPath& probed : run.probed) take(probed.path);
    rounds += add_loads(run, sums);
  }
  measured.crossed.assign(crossed.begin(), crossed.end());
  for (const auto& [channel, sum] : sums)
    if (const double load = sum / static_cast<double>(rounds); load > kMinLoad)
      measured.loads.push_back({channel, load});
  std::ranges::stable_sort(measured.loads, std::greater(), &ChannelLoad::load);
  return measured;
}

}  // namespace weft::compare
