#include "collectors/compare/measured_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "collectors/compare/probe_cells.hpp"
#include "topology/base/statistics.hpp"

namespace weft::compare {
namespace {

std::string hops_word(std::size_t hops) {
  return hops == 0 ? std::string("any distance") : fmt::format("{} hops", hops);
}

/// By distance and size the median of what `value` gives of each trip; without a value a trip does not count.
template <class ValueOf>
std::map<Cell, double> medians_by_cell(const MeasuredRun& run, const char* work, ValueOf value) {
  std::map<std::pair<std::size_t, Bytes>, std::vector<double>> all;
  for (std::size_t i = 0; i < run.trips.size(); ++i)
    if (const auto one = value(i); one && is_comparable(*one))
      all[{run.trips[i].hops, run.trips[i].size}].push_back(*one);
  std::map<Cell, double> cells;
  for (auto& [key, values] : all)
    cells[{{work, hops_word(key.first)}, key.second, Metric::time}] = median(values);
  return cells;
}

}  // namespace

std::map<Cell, double> flow_cells(const MeasuredRun& run, std::span<const double> rates) {
  struct Sum {
    double sum = 0;
    double count = 0;
  };
  std::map<std::size_t, Sum> by_hops;
  std::map<std::uint32_t, double> slowest;
  for (std::size_t i = 0; i < run.flows.size(); ++i) {
    const MeasuredFlow& flow = run.flows[i];
    Sum& sum = by_hops[flow.path.size()];
    sum.sum += rates[i];
    ++sum.count;
    const auto [at, is_first] = slowest.try_emplace(flow.round, rates[i]);
    if (!is_first) at->second = std::min(at->second, rates[i]);
  }
  std::map<Cell, double> cells;
  const auto put = [&](std::string what, double value) {
    if (is_comparable(value))
      cells[{{run.pattern, std::move(what)}, kFlowPayload, Metric::bandwidth}] = value;
  };
  for (const auto& [hops, sum] : by_hops) put("flow over " + hops_word(hops), sum.sum / sum.count);
  double all = 0;
  for (const auto& [round, rate] : slowest) all += rate;
  if (!slowest.empty()) put("slowest flow", all / static_cast<double>(slowest.size()));
  return cells;
}

std::map<Cell, double> trip_cells(const MeasuredRun& run, std::span<const double> medians) {
  return medians_by_cell(run, "round trip", [&](std::size_t i) { return std::optional(medians[i]); });
}

std::map<Cell, double> loaded_cells(const MeasuredRun& run, std::span<const double> medians) {
  std::map<std::pair<std::size_t, Bytes>, std::pair<double, double>> sums;  // with the number of trips
  for (std::size_t i = 0; i < run.loaded.size(); ++i) {
    if (!is_comparable(medians[i])) continue;
    auto& [sum, count] = sums[{run.loaded[i].idle.hops, run.loaded[i].idle.size}];
    sum += medians[i], ++count;
  }
  std::map<Cell, double> cells;
  for (const auto& [key, sum] : sums)
    cells[{{"round trip under load", hops_word(key.first)}, key.second, Metric::time}] =
        sum.first / sum.second;
  return cells;
}

std::vector<double> loaded_medians_of(const MeasuredRun& run) {
  std::vector<double> medians;
  medians.reserve(run.loaded.size());
  for (const LoadedRoundTrip& trip : run.loaded) medians.push_back(trip.p50);
  return medians;
}

std::vector<double> medians_of(const MeasuredRun& run) {
  std::vector<double> medians;
  medians.reserve(run.trips.size());
  for (const RoundTrip& trip : run.trips) medians.push_back(trip.p50);
  return medians;
}

std::vector<double> delivered_of(const MeasuredRun& run) {
  std::vector<double> rates;
  rates.reserve(run.flows.size());
  for (const MeasuredFlow& flow : run.flows) rates.push_back(flow.delivered);
  return rates;
}

std::vector<double> wanted_of(const MeasuredRun& run) {
  std::vector<double> rates;
  rates.reserve(run.flows.size());
  for (const MeasuredFlow& flow : run.flows) rates.push_back(flow.wanted);
  return rates;
}

Run run_of(const MeasuredRun& run) {
  Run cells{.name = run.name, .cells = {}, .mtus = {}, .remarks = {}};
  if (run.is_probes_alone) {
    cells.cells = probe_cells(run);
    return cells;
  }
  const auto put = [&](const std::map<Cell, double>& all) {
    for (const auto& [cell, value] : all) cells.cells[cell] = {value, 0};
  };
  put(flow_cells(run, delivered_of(run)));
  put(trip_cells(run, medians_of(run)));
  put(loaded_cells(run, loaded_medians_of(run)));
  put(medians_by_cell(run, "round trip, 99th percentile", [&](std::size_t i) {
    const RoundTrip& trip = run.trips[i];
    return trip.packets >= kMinForP99 ? std::optional(trip.p99) : std::nullopt;
  }));
  return cells;
}

}  // namespace weft::compare
