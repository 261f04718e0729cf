#include "collectors/compare/congestion_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "collectors/compare/comparison.hpp"
#include "collectors/compare/effect.hpp"

namespace weft::compare {
namespace {

bool read_counters(std::span<const MeasuredRun> runs) {
  return std::ranges::any_of(runs, [](const MeasuredRun& run) { return run.counted_nics > 0; });
}

/// Per second and NIC, of each run that read counters; what did not grow stands at 0.
std::vector<double> rates_of(std::span<const MeasuredRun> runs, const std::string& counter) {
  std::vector<double> rates;
  for (const MeasuredRun& run : runs) {
    if (run.counted_nics == 0) continue;
    const auto at = run.grew_a_second.find(counter);
    rates.push_back(at == run.grew_a_second.end() ? 0 : at->second / static_cast<double>(run.counted_nics));
  }
  return rates;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

bool is_proven(const std::vector<double>& a, const std::vector<double>& b, std::size_t tests) {
  if (std::min(a.size(), b.size()) < kMinUnits) return false;
  const Effect effect = welch_effect(a, b);
  if (effect.error <= 0) return effect.log_ratio != 0;
  return p_value(effect) < kLevel / static_cast<double>(tests);
}

std::string sides(bool a, bool b) { return a && b ? "A and B" : a ? "A" : "B"; }

}  // namespace

std::vector<CongestionCount> congestion_counts(std::span<const MeasuredRun> a,
                                               std::span<const MeasuredRun> b) {
  if (!read_counters(a) || !read_counters(b)) return {};
  std::set<std::string> names;
  for (const auto& runs : {a, b})
    for (const MeasuredRun& run : runs)
      for (const auto& [name, rate] : run.grew_a_second) names.insert(name);
  std::vector<CongestionCount> counts;
  for (const std::string& name : names) {
    const auto of_a = rates_of(a, name), of_b = rates_of(b, name);
    counts.push_back({name, mean_of(of_a), mean_of(of_b), is_proven(of_a, of_b, names.size())});
  }
  return counts;
}

std::vector<std::string> not_told(std::span<const MeasuredRun> a, std::span<const MeasuredRun> b) {
  if (a.empty() || b.empty() || a.front().is_probes_alone) return {};  // see impossible_things
  std::vector<std::string> told;
  const auto lacks = [&](auto has, const char* what) {
    const bool in_a = std::ranges::any_of(a, has), in_b = std::ranges::any_of(b, has);
    if (!in_a || !in_b) told.push_back(fmt::format("{}: {}", sides(!in_a, !in_b), what));
  };
  lacks([](const MeasuredRun& run) { return !run.flows.empty(); },
        "nothing was loaded, so collisions, rates and what hosts hold back are not told (--each load=light)");
  lacks([](const MeasuredRun& run) { return !run.trips.empty(); }, "no round trips, so delays are not told");
  lacks([](const MeasuredRun& run) { return !run.loaded.empty(); },
        "no round trips beside the load (queue pairs send none), so queueing is not told");
  lacks([](const MeasuredRun& run) { return run.counted_nics > 0; },
        "no counters of NICs (virtual ones have none), so pauses and marks are not told");
  if (read_counters(a) || read_counters(b))
    lacks(has_pause_times,
          "how long pauses last is not reported (NICs of mlx5 count it), so they have no share");
  lacks([](const MeasuredRun& run) { return run.has_host_delays; },
        "no timestamps of NICs, so hosts and their own cables are one layer");
  lacks([](const MeasuredRun& run) { return run.built != nullptr; },
        "the fabric's design is not known, so fewer cables between switches count as collisions");
  return told;
}

std::string to_string(const CongestionCount& count) {
  return fmt::format("{}: {:.3g} a second and NIC on A, {:.3g} on B{}", count.counter, count.a, count.b,
                     count.differs ? "" : " (no difference is proven)");
}

}  // namespace weft::compare
