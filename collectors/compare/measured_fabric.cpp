#include "collectors/compare/measured_fabric.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "collectors/compare/comparison.hpp"
#include "collectors/compare/layers.hpp"
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

/// How many runs say what of a channel.
struct Told {
  std::size_t crossed = 0;
  std::size_t silent = 0;  // nothing arrived that was sent over it
  std::size_t thin = 0, missing = 0, named = 0;
};

void add_told(const MeasuredRun& run, std::map<std::string, Told>& told) {
  std::vector<Told> once(run.channels.size());
  const auto mark = [&](const ChannelPath& path, std::size_t Told::*what) {
    for (const std::uint32_t channel : path) once[channel].*what = 1;
  };
  for (const MeasuredFlow& flow : run.flows)
    mark(flow.path, flow.delivered > 0 ? &Told::crossed : &Told::silent);
  for (const RoundTrip& trip : run.trips) mark(trip.path, &Told::crossed);
  for (const ProbedPath& probed : run.probed)
    mark(probed.path, probed.lost < probed.sent ? &Told::crossed : &Told::silent);
  for (const Culprit& culprit : run.culprits) mark(culprit.channels, &Told::named);
  mark(run.thin, &Told::thin);
  mark(run.missing, &Told::missing);
  for (std::size_t c = 0; c < once.size(); ++c) {
    Told& all = told[run.channels[c]];
    all.crossed += once[c].crossed;
    all.silent += once[c].silent > once[c].crossed;
    all.thin += once[c].thin, all.missing += once[c].missing, all.named += once[c].named;
  }
}

bool is_unknown(const Told& told, std::size_t runs) {
  const auto half = [runs](std::size_t count) { return count > 0 && 2 * count >= runs; };
  return half(told.thin) || half(told.silent) || (told.crossed > 0 ? half(told.missing) : told.silent > 0);
}

}  // namespace

std::vector<QueuedPlace> longest_queues(std::span<const MeasuredRun> runs) {
  constexpr std::size_t kMost = 3;
  std::map<std::string, std::pair<std::vector<double>, std::vector<std::string>>> waits;  // with channels
  for (const MeasuredRun& run : runs)
    for (const QueuedPlace& queue : run.queues) {
      auto& [all, channels] = waits[queue.place];
      all.push_back(queue.wait);
      channels = queue.channels;
    }
  std::vector<QueuedPlace> longest;
  for (auto& [place, told] : waits)
    if (2 * told.first.size() >= runs.size())
      longest.push_back({place, median(told.first), std::move(told.second)});
  std::ranges::sort(longest, std::greater(),
                    [](const QueuedPlace& queue) { return std::pair(queue.wait, queue.place); });
  longest.resize(std::min(longest.size(), kMost));
  return longest;
}

MeasuredFabric measured_fabric(std::string fabric, std::span<const MeasuredRun> runs) {
  MeasuredFabric measured{
      .fabric = std::move(fabric), .crossed = {}, .unknown = {}, .loads = {}, .queues = longest_queues(runs)};
  std::map<std::string, Told> told;
  std::map<std::string, double> sums;
  std::size_t rounds = 0;
  for (const MeasuredRun& run : runs) {
    add_told(run, told);
    rounds += add_loads(run, sums);
  }
  std::set<std::string> named;
  for (const NamedPlace& place : named_places(runs))
    named.insert(place.channels.begin(), place.channels.end());
  for (const auto& [channel, of_it] : told) {
    if (of_it.crossed > 0) measured.crossed.push_back(channel);
    if (is_unknown(of_it, runs.size()) || (of_it.named > 0 && !named.contains(channel)))
      measured.unknown.push_back(channel);
  }
  for (const auto& [channel, sum] : sums)
    if (const double load = sum / static_cast<double>(rounds); load > kMinLoad)
      measured.loads.push_back({channel, load});
  std::ranges::stable_sort(measured.loads, std::greater(), &ChannelLoad::load);
  return measured;
}

}  // namespace weft::compare
