#include "collectors/compare/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "collectors/compare/built_fabric.hpp"
#include "collectors/compare/cell_models.hpp"
#include "collectors/compare/effect.hpp"
#include "collectors/compare/measured_fabric.hpp"
#include "topology/base/readable.hpp"
#include "topology/base/statistics.hpp"

namespace weft::compare {
namespace {

/// A share of which the denominator is smaller is all noise.
constexpr double kMinLogRatio = 1e-6;

/// By cell of flows what they asked for, the mean over runs.
std::map<Cell, double> asked_by(std::span<const MeasuredRun> runs) {
  std::map<Cell, std::pair<double, double>> sums;  // with the number of runs
  for (const MeasuredRun& run : runs)
    for (const auto& [cell, rate] : flow_cells(run, wanted_of(run))) {
      auto& [sum, count] = sums[cell];
      sum += rate, ++count;
    }
  std::map<Cell, double> means;
  for (const auto& [cell, sum] : sums) means[cell] = sum.first / sum.second;
  return means;
}

/// Of one pair of runs and one cell, as logarithms: what was measured, what all layers together take away,
/// and each alone.
struct Gone {
  double measured = 0;
  double together = 0;
  std::map<Layer, double> alone;
};

using Model = std::map<Cell, double>;
struct Models {
  Model b, a;
  std::map<Layer, Model> replaced;
  Model spread_b, spread_a;  // flows spread evenly, as shares of the line rate; empty: not both are known
};

void add_spread(const MeasuredRun& a, const MeasuredRun& b, Models& models) {
  auto rates_a = spread_evenly(a), rates_b = spread_evenly(b);
  if (!rates_a || !rates_b) return;
  const bool lines_are_known = a.line_rate > 0 && b.line_rate > 0;
  for (double& rate : *rates_a) rate /= lines_are_known ? a.line_rate : 1;
  for (double& rate : *rates_b) rate /= lines_are_known ? b.line_rate : 1;
  models.spread_a = flow_cells(a, *rates_a);
  models.spread_b = flow_cells(b, *rates_b);
}

Models models_of(const MeasuredRun& a, const MeasuredRun& b) {
  Models models;
  const auto add = [](Model& into, Model more) { into.merge(more); };
  const bool with_pauses = has_pause_times(a) && has_pause_times(b);
  const auto all_of = [&](const MeasuredRun& run) {
    FlowParts parts = FlowParts::all_of(run);
    if (!with_pauses) parts.pauses = nullptr;
    return parts;
  };
  const auto flows = [&](auto FlowParts::*layer) {
    FlowParts parts = all_of(b);
    parts.*layer = &a;
    return model_flows(parts);
  };
  models.b = model_flows(all_of(b));
  models.a = model_flows(all_of(a));
  if (with_pauses) models.replaced[Layer::pauses] = flows(&FlowParts::pauses);
  models.replaced[Layer::hosts] = flows(&FlowParts::hosts);
  models.replaced[Layer::cables] = flows(&FlowParts::cables);
  models.replaced[Layer::traffic] = flows(&FlowParts::traffic);
  models.replaced[Layer::losses] = flows(&FlowParts::losses);
  models.replaced[Layer::collisions] = flows(&FlowParts::paths);
  models.replaced[Layer::line_rate] = flows(&FlowParts::line_rate);
  add_spread(a, b, models);
  add(models.b, trip_cells(b, medians_of(b)));
  add(models.b, loaded_cells(b, loaded_medians_of(b)));
  add(models.a, model_trips(b, TripParts::all_of(a)));
  add(models.a, model_loaded(b, TripParts::all_of(a)));
  for (const auto& [layer, part] :
       {std::pair(Layer::hosts, &TripParts::hosts), std::pair(Layer::cables, &TripParts::cables),
        std::pair(Layer::hops, &TripParts::hops), std::pair(Layer::queueing, &TripParts::queues)}) {
    TripParts parts = TripParts::all_of(b);
    parts.*part = &a;
    if (layer != Layer::queueing) add(models.replaced[layer], model_trips(b, parts));
    add(models.replaced[layer], model_loaded(b, parts));
  }
  add(models.b, model_probes(b, b));
  add(models.a, model_probes(b, a));
  add(models.replaced[Layer::losses], model_probes(b, a));
  return models;
}

std::optional<Gone> gone_of(const Models& models, double measured, const Cell& cell) {
  const auto log_of = [&](const Model& model) -> std::optional<double> {
    const auto at = model.find(cell);
    return at == model.end() ? std::nullopt : std::optional(std::log(at->second));
  };
  const auto whole = log_of(models.b);
  const auto none = log_of(models.a);
  if (!whole || !none) return std::nullopt;
  Gone gone{.measured = measured, .together = *whole - *none, .alone = {}};
  for (const auto& [layer, model] : models.replaced)
    if (const auto left = log_of(model)) gone.alone[layer] = *whole - *left;
  if (const auto of_b = log_of(models.spread_b), of_a = log_of(models.spread_a); of_a && of_b) {
    gone.alone[Layer::oversubscription] = *of_b - *of_a;
    gone.alone[Layer::collisions] -= *of_b - *of_a;
  }
  return gone;
}

/// The sum of one over that of the other, over blocks, with the 95 % interval of a ratio (by the residuals:
/// Cochran, Sampling Techniques, 6.3).
LayerShare share_of(Layer layer, std::span<const double> gone, std::span<const double> measured,
                    double level) {
  const double all = std::accumulate(measured.begin(), measured.end(), 0.0);
  LayerShare share{.layer = layer, .share = std::accumulate(gone.begin(), gone.end(), 0.0) / all};
  if (gone.size() < kMinUnits) return share;
  std::vector<double> residuals;
  for (std::size_t i = 0; i < gone.size(); ++i) residuals.push_back(gone[i] - share.share * measured[i]);
  const auto n = static_cast<double>(gone.size());
  const double half = half_width(block_effect(residuals), level) / std::abs(all / n);
  share.interval = {share.share - half, share.share + half};
  return share;
}

Layer layer_of(const NamedPlace& place) {
  if (place.is_host) return Layer::hosts;
  switch (place.cause) {
    case Cause::loss:
    case Cause::corruption:
    case Cause::counter:
      return Layer::losses;
    case Cause::congestion:
      return Layer::traffic;
    case Cause::rate:
    case Cause::delay:
    case Cause::down:
    case Cause::mtu:
      return Layer::cables;
  }
  return Layer::cables;
}

/// Mean of the two runs of each block.
std::vector<double> by_block(const std::vector<double>& runs) {
  std::vector<double> blocks;
  for (std::size_t i = 0; i + 1 < runs.size(); i += 2) blocks.push_back((runs[i] + runs[i + 1]) / 2);
  return blocks;
}

std::optional<double> measured_ratio(const Run& a, const Run& b, const Cell& cell) {
  const auto of_a = a.cells.find(cell);
  const auto of_b = b.cells.find(cell);
  if (of_a == a.cells.end() || of_b == b.cells.end()) return std::nullopt;
  return std::log(of_b->second.number / of_a->second.number);
}

Reasons reasons_for(const Cell& cell, std::span<const Gone> all, double level) {
  std::vector<double> measured, together;
  std::map<Layer, std::vector<double>> alone;
  for (const Gone& gone : all) {
    measured.push_back(gone.measured);
    together.push_back(gone.together);
    for (const auto& [layer, part] : gone.alone) alone[layer].push_back(part);
  }
  Reasons reasons{.cell = cell, .layers = {}};
  const auto blocks = by_block(measured);
  const double sum = std::accumulate(blocks.begin(), blocks.end(), 0.0);
  if (blocks.empty() || std::abs(sum) < kMinLogRatio) return reasons;
  reasons.joint = share_of(Layer::cables, by_block(together), blocks, level).share;
  reasons.unexplained = 1 - reasons.joint;
  for (const auto& [layer, parts] : alone) {
    if (parts.size() != measured.size()) continue;
    reasons.layers.push_back(share_of(layer, by_block(parts), blocks, level));
    reasons.joint -= reasons.layers.back().share;
  }
  std::ranges::stable_sort(reasons.layers, std::greater(), &LayerShare::share);
  return reasons;
}

std::vector<std::string> queued_places(char side, std::span<const MeasuredRun> runs) {
  std::vector<std::string> places;
  for (const QueuedPlace& queue : longest_queues(runs))
    places.push_back(fmt::format("{}: {} ({} in queues)", side, queue.place,
                                 readable(Nanoseconds(std::llround(queue.wait * 1e9)))));
  return places;
}

/// The cables of hosts that stood longest under load, in at least half of the runs; by the median.
std::vector<std::string> paused_places(char side, std::span<const MeasuredRun> runs) {
  constexpr std::size_t kMost = 3;
  constexpr double kMinShare = 0.01;  // of the load
  std::map<std::pair<std::string, bool>, std::vector<double>> all;
  for (const MeasuredRun& run : runs) {
    if (!has_pause_times(run)) continue;
    for (const auto& [nic, paused] : run.paused) {
      if (paused.sending > 0) all[{nic, true}].push_back(paused.sending);
      if (paused.receiving > 0) all[{nic, false}].push_back(paused.receiving);
    }
  }
  std::vector<std::pair<double, std::string>> longest;
  for (auto& [key, shares] : all) {
    const double share = median(shares);
    if (2 * shares.size() < runs.size() || share < kMinShare) continue;
    longest.emplace_back(
        share, fmt::format("{}: {} ({} {:.0f} % of the load)", side, key.first,
                           key.second ? "its switch stopped it" : "it stopped its switch", share * 100));
  }
  std::ranges::sort(longest, std::greater());
  std::vector<std::string> places;
  for (std::size_t i = 0; i < std::min(longest.size(), kMost); ++i) places.push_back(longest[i].second);
  return places;
}

}  // namespace

std::string_view to_string(Layer layer) {
  switch (layer) {
    case Layer::hosts:
      return "hosts";
    case Layer::cables:
      return "cables";
    case Layer::traffic:
      return "other traffic";
    case Layer::losses:
      return "losses";
    case Layer::collisions:
      return "collisions";
    case Layer::oversubscription:
      return "oversubscription";
    case Layer::line_rate:
      return "line rate";
    case Layer::hops:
      return "hops";
    case Layer::queueing:
      return "queueing";
    case Layer::pauses:
      return "pauses";
  }
  return "";
}

std::vector<NamedPlace> named_places(std::span<const MeasuredRun> runs) {
  struct Named {
    NamedPlace place;
    std::vector<double> values;
    std::map<std::string, std::size_t> channels;  // with the number of runs
  };
  using Key = std::pair<std::string, Cause>;
  std::map<Key, Named> found;
  for (const MeasuredRun& run : runs) {
    std::map<Key, std::set<std::uint32_t>> seen;  // a run may name both directions of a cable
    for (const Culprit& culprit : run.culprits) {
      const Key key{culprit.place, culprit.cause};
      auto& [place, values, channels] = found[key];
      const auto [at, is_first] = seen.try_emplace(key);
      for (const std::uint32_t channel : culprit.channels)
        if (at->second.insert(channel).second) ++channels[run.channels[channel]];
      if (!is_first) continue;
      place.place = culprit.place;
      place.cause = culprit.cause;
      place.is_host = culprit.is_host;
      place.is_one_of = culprit.is_one_of;
      ++place.runs;
      if (culprit.value) values.push_back(*culprit.value);
    }
  }
  std::vector<NamedPlace> places;
  for (auto& [key, entry] : found) {
    auto& [place, values, channels] = entry;
    if (2 * place.runs < runs.size()) continue;
    std::ranges::sort(values);
    if (!values.empty()) place.value = values[values.size() / 2];
    for (const auto& [channel, count] : channels)
      if (2 * count >= runs.size()) place.channels.push_back(channel);
    places.push_back(std::move(place));
  }
  std::ranges::stable_sort(places, std::greater(), &NamedPlace::runs);
  return places;
}

std::vector<Reasons> reasons_of(std::span<const MeasuredRun> a, std::span<const MeasuredRun> b,
                                const Comparison& comparison) {
  const std::size_t pairs = std::min(a.size(), b.size());
  std::map<Cell, std::vector<Gone>> gone;
  for (const CellResult& cell : comparison.cells)
    if (cell.proven()) gone[cell.cell];
  if (gone.empty()) return {};
  for (std::size_t i = 0; i < pairs; ++i) {
    const Models models = models_of(a[i], b[i]);
    const Run run_a = run_of(a[i]);
    const Run run_b = run_of(b[i]);
    for (auto& [cell, all] : gone)
      if (const auto ratio = measured_ratio(run_a, run_b, cell))
        if (auto one = gone_of(models, *ratio, cell)) all.push_back(std::move(*one));
  }
  std::vector<std::pair<Layer, std::string>> places;
  for (const auto& [side, runs] : {std::pair('A', a), std::pair('B', b)})
    for (const NamedPlace& place : named_places(runs))
      places.emplace_back(layer_of(place),
                          fmt::format("{}: {} ({})", side, place.place, to_string(place.cause)));
  for (const auto& [side, runs] : {std::pair('A', a), std::pair('B', b)}) {
    for (std::string& place : queued_places(side, runs))
      places.emplace_back(Layer::queueing, std::move(place));
    for (std::string& place : paused_places(side, runs)) places.emplace_back(Layer::pauses, std::move(place));
  }
  if (pairs > 0 && a[0].built && b[0].built && a[0].built->oversubscription != b[0].built->oversubscription)
    for (const auto& [side, run] : {std::pair('A', &a[0]), std::pair('B', &b[0])})
      if (!run->built->widest_leaf.empty())
        places.emplace_back(Layer::oversubscription, fmt::format("{}: {}", side, run->built->widest_leaf));
  const auto asked_a = asked_by(a), asked_b = asked_by(b);
  const bool is_load_another =
      pairs > 0 && !a[0].load.empty() && !b[0].load.empty() && a[0].load != b[0].load;
  std::vector<Reasons> reasons;
  for (const auto& [cell, all] : gone) {
    const auto of_a = asked_a.find(cell), of_b = asked_b.find(cell);
    if (is_load_another && of_a != asked_a.end() && of_b != asked_b.end()) {
      reasons.push_back({.cell = cell, .layers = {}, .asked = std::pair(of_a->second, of_b->second)});
      continue;
    }
    if (all.empty()) continue;  // the model has no such cell, as of 99th percentiles
    reasons.push_back(reasons_for(cell, all, comparison.settings.level()));
    for (LayerShare& share : reasons.back().layers)
      for (const auto& [layer, place] : places)
        if (layer == share.layer) share.places.push_back(place);
  }
  return reasons;
}

std::string advice_of(Layer layer, char worse_side) {
  switch (layer) {
    case Layer::hosts:
      return fmt::format(
          "look at the hosts of {}: weft doctor, power and interrupt settings, firmware of NICs", worse_side);
    case Layer::cables:
      return fmt::format("mend what is named in {}, then compare again", worse_side);
    case Layer::traffic:
      return fmt::format("others use {}: compare again when they have ended, or keep them apart", worse_side);
    case Layer::losses:
      return fmt::format("mend the cables of {} that lose packets, then compare again", worse_side);
    case Layer::collisions:
      return fmt::format("flows of {} meet on links: assign labels (weft balance), or use more queue pairs",
                         worse_side);
    case Layer::oversubscription:
      return fmt::format(
          "{} has fewer or slower cables between its switches, by its fabric file: that is no fault, and no "
          "labels help; more uplinks do, or jobs that stay under one leaf",
          worse_side);
    case Layer::line_rate:
      return fmt::format("the hosts' cables of {} are slower by what they are built for: that is no fault",
                         worse_side);
    case Layer::hops:
      return fmt::format(
          "each hop of {} takes longer: compare models, modes (cut-through) and FEC "
          "of its switches",
          worse_side);
    case Layer::queueing:
      return fmt::format(
          "packets of {} wait longer in queues under load: see where (weft sweep), spread the flows (weft "
          "balance), or mark earlier (ECN)",
          worse_side);
    case Layer::pauses:
      return fmt::format(
          "pause frames stop cables of hosts of {}: see who began (weft counters pauses), hosts that take "
          "too "
          "little first (weft doctor), then where flows contend",
          worse_side);
  }
  return "";
}

}  // namespace weft::compare
