#include "collectors/compare/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "collectors/compare/effect.hpp"
#include "collectors/compare/size_regime.hpp"

namespace weft::compare {
namespace {

constexpr std::size_t kMaxForecast = 10'000;  // beyond it nobody goes on measuring
constexpr double kMaxLog = 500;               // of an interval: its exponential is still a number

/// One run or block, as a logarithm.
struct Unit {
  double log = 0;
  double grain = 0;
  double counted = 0;  // as in Value
};

/// Of one side, a unit for each run or block; absent: the cell is not in it.
using Units = std::vector<std::optional<Unit>>;

/// Of blocks that both their runs have. A block of one run would not be between those of the other side: what
/// drifts would stay in it.
Units blocks_of(const Units& runs) {
  Units blocks(runs.size() / 2);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto& one = runs[2 * i];
    const auto& other = runs[2 * i + 1];
    if (one && other)
      blocks[i] = {(one->log + other->log) / 2, std::max(one->grain, other->grain),
                   (one->counted + other->counted) / 4};
  }
  return blocks;
}

/// Of one cell and side.
struct OfCell {
  Units units;
  std::vector<std::optional<double>> values = {};  // as in Side
};

using CellUnits = std::map<Cell, OfCell>;

Result<CellUnits> units_of(std::span<const Run> runs, Design design) {
  CellUnits found;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto at = found.begin();  // both are in order, and runs mostly have the same cells
    for (const auto& [cell, value] : runs[i].cells) {
      if (!is_comparable(value.number))
        return fail(ErrorKind::invalid_input, "{}: a value of {}: only finite values above zero compare",
                    runs[i].name, value.number);
      while (at != found.end() && at->first < cell) ++at;
      if (at == found.end() || at->first != cell)
        at = found.try_emplace(at, cell, Units(runs.size()), std::vector<std::optional<double>>(runs.size()));
      at->second.units[i] = {std::log(value.number), value.grain, value.counted};
      at->second.values[i] = value.number;
      ++at;
    }
  }
  if (design == Design::runs) return found;
  for (auto& [cell, of_cell] : found) of_cell.units = blocks_of(of_cell.units);
  return found;
}

/// Blocks without a cell that one of their runs has.
std::size_t halves(std::span<const Run> runs) {
  std::size_t count = 0;
  for (std::size_t i = 0; i + 1 < runs.size(); i += 2)
    count += !std::ranges::equal(runs[i].cells, runs[i + 1].cells, {}, &std::pair<const Cell, Value>::first,
                                 &std::pair<const Cell, Value>::first);
  return count;
}

/// A job of it ended early. Other works may be in other files.
bool is_incomplete(const Run& run, const CellUnits& side) {
  if (run.empty_tables > 0) return true;
  if (run.cells.size() == side.size()) return false;  // it has all cells of its side
  std::set<std::vector<std::string>> works;
  for (const auto& [cell, value] : run.cells) works.insert(cell.work);
  return std::ranges::any_of(side, [&](const auto& entry) {
    return works.contains(entry.first.work) && !run.cells.contains(entry.first);
  });
}

Losses losses_of(std::span<const Run> runs, const CellUnits& side) {
  Losses losses;
  for (const Run& run : runs) {
    losses.wrong_rows += run.wrong_rows;
    losses.incomplete_runs += is_incomplete(run, side);
  }
  return losses;
}

/// What both sides of one cell have.
struct Pairing {
  std::vector<double> a;
  std::vector<double> b;
  Grains grains;
};

/// Of blocks only those that both sides have.
Pairing paired(const Units& a, const Units& b, Design design) {
  Pairing pairing;
  const auto add = [](const Unit& unit, std::vector<double>& logs, double& grain, double& counted) {
    logs.push_back(unit.log);
    grain = std::max(grain, unit.grain);
    counted += unit.counted;
  };
  Grains& grains = pairing.grains;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const bool in_a = i < a.size() && a[i];
    const bool in_b = i < b.size() && b[i];
    if (design == Design::blocks && in_a != in_b) continue;
    if (in_a) add(*a[i], pairing.a, grains.a, grains.counted_a);
    if (in_b) add(*b[i], pairing.b, grains.b, grains.counted_b);
  }
  grains.counted_a /= static_cast<double>(std::max<std::size_t>(pairing.a.size(), 1));
  grains.counted_b /= static_cast<double>(std::max<std::size_t>(pairing.b.size(), 1));
  return pairing;
}

Side side_of(const std::vector<double>& logs, const OfCell& of_cell) {
  const auto [least, most] = std::ranges::minmax(logs);
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(logs.size());
  return {.mean = std::exp(mean),
          .units = logs.size(),
          .spread = std::exp(most - least),
          .values = of_cell.values};
}

/// Absent: too few units, or values that never vary and are exact.
std::optional<Effect> effect_of(const Pairing& pairing, Design design) {
  if (std::min(pairing.a.size(), pairing.b.size()) < kMinUnits) return std::nullopt;
  Effect effect;
  if (design == Design::blocks) {
    std::vector<double> ratios(pairing.a.size());
    std::ranges::transform(pairing.b, pairing.a, ratios.begin(), std::minus());
    effect = block_effect(ratios, pairing.grains);
  } else {
    effect = welch_effect(pairing.a, pairing.b, pairing.grains);
  }
  return effect.error > 0 ? std::optional(effect) : std::nullopt;
}

/// Values of one cell and side, with their moments. Precondition: all runs have one.
void add_timed(const Units& units, std::span<const Run> runs, bool is_b, std::vector<TimedLog>& values) {
  for (std::size_t i = 0; i < units.size(); ++i)
    if (units[i]) values.push_back({units[i]->log, *runs[i].moment, is_b});
}

/// Whether the hour of day is corrected for, and what is said of it, or of a temperature, that is not.
struct HourOfDay {
  bool is_corrected = false;
  std::optional<std::string> remark = std::nullopt;
};

HourOfDay hour_of_day(std::span<const Run> a, std::span<const Run> b, Design design) {
  std::vector<Moment> of_a, of_b;
  for (const auto& [runs, moments] : {std::pair(a, &of_a), std::pair(b, &of_b)})
    for (const Run& run : runs)
      if (run.moment) moments->push_back(*run.moment);
  if (design == Design::blocks || (of_a.empty() && of_b.empty())) return {};
  if (const std::size_t lacking = a.size() + b.size() - of_a.size() - of_b.size(); lacking > 0)
    return {false, fmt::format("the hour of day is not corrected for: of {} {} nobody says when it was taken",
                               lacking, lacking == 1 ? "run" : "runs")};
  if (auto why = why_no_cycle(of_a, of_b)) return {false, std::move(why)};
  return {true, why_no_degrees(of_a, of_b)};
}

/// The levels of the two tests: of "equal", and of "differs" (Holm's strictest).
struct Levels {
  double equal = kLevel;
  double differs = kLevel;
};

/// With the same effect and spread over this many units.
bool would_decide(const Effect& effect, std::size_t units, double log_margin, Levels levels) {
  const Effect then = with_units(effect, units);
  return is_within(then, log_margin, levels.equal) ||
         std::abs(then.log_ratio) > half_width(then, levels.differs);
}

std::optional<std::size_t> more_needed(const Effect& effect, std::size_t units, double log_margin,
                                       Levels levels) {
  std::size_t low = units;  // does not decide
  std::size_t high = kMaxForecast;
  if (units >= high || !would_decide(effect, high, log_margin, levels)) return std::nullopt;
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (would_decide(effect, middle, log_margin, levels) ? high : low) = middle;
  }
  return high - units;
}

struct Tested {
  CellResult result;
  std::optional<Effect> effect;
};

void correct(Tested& tested, const std::optional<CorrectedEffect>& without) {
  if (!without || without->effect.error <= 0) return;
  tested.effect = without->effect;
  tested.result.cycle = without->cycle;
  tested.result.corrected = std::exp(without->effect.log_ratio);
}

/// Blocks that are the same to the last digit have no noise: simulated ones, or flows that are paced.
void decide_exactly(CellResult& result, double margin) {
  constexpr double kExact = 1e-9;  // means of logarithms round
  const double ratio = result.ratio();
  result.test = {
      .low = ratio, .high = ratio, .p = std::abs(ratio - 1) < kExact ? 1.0 : 0.0, .least_shown = 0};
  result.decision = advantage(ratio) < margin ? Decision::equal : Decision::differs;
}

void decide(std::vector<Tested>& cells, const Settings& settings) {
  std::vector<double> p_values;
  for (const Tested& cell : cells)
    if (cell.effect) p_values.push_back(p_value(*cell.effect));
  const auto adjusted = holm(p_values);
  const double level = settings.level();
  const Levels levels{level, level / static_cast<double>(std::max<std::size_t>(adjusted.size(), 1))};
  auto p = adjusted.begin();
  for (auto& [result, effect] : cells) {
    const std::size_t units = std::min(result.a.units, result.b.units);
    const double margin = settings.margin_of(result.cell.metric), log_margin = std::log1p(margin);
    if (!effect) {
      if (units < kMinUnits) result.needed = kMinUnits - units;
      if (units >= kMinUnits && settings.design == Design::blocks) decide_exactly(result, margin);
      continue;
    }
    const double half = std::min(half_width(*effect, level), kMaxLog);
    result.test = {.low = std::exp(effect->log_ratio - half),
                   .high = std::exp(effect->log_ratio + half),
                   .p = std::min(*p++ * static_cast<double>(settings.looks), 1.0),
                   .least_shown = std::expm1(std::min(half_width(*effect, levels.differs), kMaxLog))};
    if (is_within(*effect, log_margin, level))
      result.decision = Decision::equal;
    else if (result.proven())
      result.decision = Decision::differs;
    else
      result.needed = more_needed(*effect, units, log_margin, levels);
  }
}

std::string first_cell(const CellUnits& cells) {
  if (cells.empty()) return "nothing";
  const Cell& cell = cells.begin()->first;
  return fmt::format("{} of {} bytes", fmt::join(cell.work, " "), cell.size.count());
}

/// What is told of both sides together.
std::vector<std::string> remarks_on(std::span<const Run> a, std::span<const Run> b, Design design) {
  std::vector<std::string> remarks;
  const auto mtus = [](std::span<const Run> runs) {
    std::set<std::string> all;
    for (const Run& run : runs) all.insert(run.mtus.begin(), run.mtus.end());
    return all;
  };
  if (const auto of_a = mtus(a), of_b = mtus(b); !of_a.empty() && !of_b.empty() && of_a != of_b)
    remarks.push_back(
        fmt::format("MTUs differ: A {}, B {}", fmt::join(of_a, " and "), fmt::join(of_b, " and ")));
  constexpr std::size_t kMaxRegimes = 8;
  const auto regimes = size_regimes(a, b);
  for (std::size_t i = 0; i < std::min(regimes.size(), kMaxRegimes); ++i)
    remarks.push_back(to_string(regimes[i]));
  if (regimes.size() > kMaxRegimes)
    remarks.push_back(fmt::format("and {} works more", regimes.size() - kMaxRegimes));
  if (design == Design::runs) return remarks;
  for (const auto& [name, runs] : {std::pair('A', a), std::pair('B', b)})
    if (const std::size_t count = halves(runs); count > 0)
      remarks.push_back(fmt::format(
          "{} of {} blocks of {}: one run lacks a cell of the other, and the block does not count there",
          count, runs.size() / 2, name));
  return remarks;
}

}  // namespace

std::string_view to_string(Metric metric) {
  switch (metric) {
    case Metric::time:
      return "time";
    case Metric::bandwidth:
      return "bandwidth";
    case Metric::arrived:
      return "arrived";
    case Metric::ways:
      return "ways";
  }
  return "";
}

std::string_view unit_of(Metric metric) {
  switch (metric) {
    case Metric::time:
      return "s";
    case Metric::bandwidth:
      return "bit/s";
    case Metric::arrived:
    case Metric::ways:
      return "1";
  }
  return "";
}

std::string_view to_string(Decision decision) {
  switch (decision) {
    case Decision::equal:
      return "equal";
    case Decision::differs:
      return "differs";
    case Decision::undecided:
      return "undecided";
  }
  return "";
}

Decision Comparison::decision() const {
  const auto is = [](Decision decision) {
    return [decision](const CellResult& cell) { return cell.decision == decision; };
  };
  if (std::ranges::any_of(cells, is(Decision::differs))) return Decision::differs;
  const bool equal = a.none() && b.none() && std::ranges::all_of(cells, is(Decision::equal));
  return equal ? Decision::equal : Decision::undecided;
}

double advantage(double ratio) { return std::expm1(std::abs(std::log(ratio))); }

char better_side(Metric metric, double ratio) { return (metric == Metric::time) == (ratio > 1) ? 'A' : 'B'; }

Result<Comparison> compare(std::span<const Run> a, std::span<const Run> b, const Settings& settings) {
  if (settings.design == Design::blocks && (a.size() != b.size() || a.size() % 2 != 0))
    return fail(ErrorKind::usage,
                "{} runs of A and {} of B are no blocks A, B, B, A: expected as many of each, and an even "
                "number",
                a.size(), b.size());
  WEFT_TRY(const auto of_a, units_of(a, settings.design));
  WEFT_TRY(const auto of_b, units_of(b, settings.design));
  Comparison comparison{.settings = settings,
                        .a = losses_of(a, of_a),
                        .b = losses_of(b, of_b),
                        .remarks = remarks_on(a, b, settings.design)};
  const HourOfDay hour = hour_of_day(a, b, settings.design);
  if (hour.remark) comparison.remarks.push_back(*hour.remark);
  std::vector<Tested> tested;
  for (const auto& [cell, in_a] : of_a) {
    const auto other = of_b.find(cell);
    if (other == of_b.end()) {
      comparison.b.missing.push_back(cell);
      continue;
    }
    const OfCell& in_b = other->second;
    const Pairing pairing = paired(in_a.units, in_b.units, settings.design);
    if (pairing.a.empty()) {  // no block has it on both sides
      comparison.a.missing.push_back(cell);
      comparison.b.missing.push_back(cell);
      continue;
    }
    tested.push_back({.result = {.cell = cell, .a = side_of(pairing.a, in_a), .b = side_of(pairing.b, in_b)},
                      .effect = effect_of(pairing, settings.design)});
    if (hour.is_corrected) {
      std::vector<TimedLog> values;
      add_timed(in_a.units, a, false, values);
      add_timed(in_b.units, b, true, values);
      correct(tested.back(), without_cycle(values, pairing.grains));
    }
    if (settings.design == Design::blocks)
      std::ranges::transform(pairing.b, pairing.a, std::back_inserter(tested.back().result.blocks),
                             [](double log_b, double log_a) { return std::exp(log_b - log_a); });
  }
  const auto left = static_cast<std::size_t>(
      std::ranges::count_if(tested, [](const Tested& one) { return !one.result.cycle; }));
  if (hour.is_corrected && left > 0)
    comparison.remarks.push_back(
        fmt::format("the hour of day is not corrected for in {} of {} cells: too few runs have them", left,
                    tested.size()));
  for (const auto& [cell, in_b] : of_b)
    if (!of_a.contains(cell)) comparison.a.missing.push_back(cell);
  if (tested.empty())
    return fail(ErrorKind::invalid_input, "no cell is on both sides: A has {}, B has {}", first_cell(of_a),
                first_cell(of_b));
  decide(tested, settings);
  for (Tested& one : tested) comparison.cells.push_back(std::move(one.result));
  return comparison;
}

}  // namespace weft::compare
