#include "collectors/compare/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "collectors/compare/effect.hpp"

namespace weft::compare {
namespace {

constexpr std::size_t kMaxForecast = 10'000;  // beyond it nobody goes on measuring
constexpr double kMaxLog = 500;               // of an interval: its exponential is still a number

/// The median of one run or block, as a logarithm.
struct Unit {
  double log = 0;
  double grain = 0;
};

/// Of one side, a unit for each run or block; absent: the cell is not in it.
using Units = std::vector<std::optional<Unit>>;

Result<Unit> median_of(std::vector<Value> values, const std::string& where) {
  Unit unit;
  for (const Value& value : values) {
    if (!is_comparable(value.number))
      return fail(ErrorKind::invalid_input, "{}: a value of {}: only finite values above zero compare", where,
                  value.number);
    unit.grain = std::max(unit.grain, value.grain);
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle, {}, &Value::number);
  unit.log = std::log(middle->number);
  if (values.size() % 2 == 0)
    unit.log = (unit.log +
                std::log(std::max_element(values.begin(), middle,
                                          [](const auto& x, const auto& y) { return x.number < y.number; })
                             ->number)) /
               2;
  return unit;
}

std::size_t runs_per_unit(Design design) { return design == Design::blocks ? 2 : 1; }

Result<std::map<Cell, Units>> units_of(std::span<const Run> runs, Design design) {
  const std::size_t together = runs_per_unit(design);
  std::map<Cell, Units> found;
  for (std::size_t first = 0; first < runs.size(); first += together) {
    std::map<Cell, std::vector<Value>> values;
    for (const Run& run : runs.subspan(first, together))
      for (const auto& [cell, more] : run.cells)
        values[cell].insert(values[cell].end(), more.begin(), more.end());
    for (auto& [cell, all] : values) {
      if (all.empty()) continue;
      WEFT_TRY(const Unit unit, median_of(std::move(all), runs[first].name));
      auto& units = found.try_emplace(cell, runs.size() / together).first->second;
      units[first / together] = unit;
    }
  }
  return found;
}

/// What both sides of one cell have.
struct Pairing {
  std::vector<double> a;
  std::vector<double> b;
  double grain_a = 0;
  double grain_b = 0;
};

/// Of blocks only those that both sides have.
Pairing paired(const Units& a, const Units& b, Design design) {
  Pairing pairing;
  const auto add = [](const std::optional<Unit>& unit, std::vector<double>& logs, double& grain) {
    if (!unit) return;
    logs.push_back(unit->log);
    grain = std::max(grain, unit->grain);
  };
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const bool in_a = i < a.size() && a[i];
    const bool in_b = i < b.size() && b[i];
    if (design == Design::blocks && in_a != in_b) continue;
    if (in_a) add(a[i], pairing.a, pairing.grain_a);
    if (in_b) add(b[i], pairing.b, pairing.grain_b);
  }
  return pairing;
}

Side side_of(const std::vector<double>& logs) {
  if (logs.empty()) return {};
  const auto [least, most] = std::ranges::minmax(logs);
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(logs.size());
  return {.mean = std::exp(mean), .units = logs.size(), .spread = std::exp(most - least)};
}

/// Absent: too few units, or values that never vary and are exact.
std::optional<Effect> effect_of(const Pairing& pairing, Design design) {
  if (std::min(pairing.a.size(), pairing.b.size()) < kMinUnits) return std::nullopt;
  // What is printed is off by up to half a unit of its last digit: a uniform error, the same in each unit
  // where the truth is, so that repetition does not lessen it.
  const double rounding = (pairing.grain_a * pairing.grain_a + pairing.grain_b * pairing.grain_b) / 12;
  Effect effect;
  if (design == Design::blocks) {
    std::vector<double> ratios(pairing.a.size());
    std::ranges::transform(pairing.b, pairing.a, ratios.begin(), std::minus());
    effect = block_effect(ratios, rounding);
  } else {
    effect = welch_effect(pairing.a, pairing.b, rounding);
  }
  return effect.error > 0 ? std::optional(effect) : std::nullopt;
}

/// With the same effect and spread over this many units; `level`: of "differs", Holm's strictest.
bool would_decide(const Effect& effect, std::size_t units, double log_margin, double level) {
  const Effect then = with_units(effect, units);
  return is_within(then, log_margin, kLevel) || std::abs(then.log_ratio) > half_width(then, level);
}

std::optional<std::size_t> more_needed(const Effect& effect, std::size_t units, double log_margin,
                                       double level) {
  std::size_t low = units;  // does not decide
  std::size_t high = kMaxForecast;
  if (units >= high || !would_decide(effect, high, log_margin, level)) return std::nullopt;
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (would_decide(effect, middle, log_margin, level) ? high : low) = middle;
  }
  return high - units;
}

struct Tested {
  CellResult result;
  std::optional<Effect> effect;
};

void decide(std::vector<Tested>& cells, double margin) {
  std::vector<double> p_values;
  for (const Tested& cell : cells)
    if (cell.effect) p_values.push_back(p_value(*cell.effect));
  const auto adjusted = holm(p_values);
  const double level = kLevel / static_cast<double>(std::max<std::size_t>(adjusted.size(), 1));
  const double log_margin = std::log1p(margin);
  auto p = adjusted.begin();
  for (auto& [result, effect] : cells) {
    const std::size_t units = std::min(result.a.units, result.b.units);
    if (!effect) {
      if (units < kMinUnits) result.needed = kMinUnits - units;
      continue;
    }
    const double half = std::min(half_width(*effect, kLevel), kMaxLog);
    result.interval = {std::exp(effect->log_ratio - half), std::exp(effect->log_ratio + half)};
    result.p = *p++;
    result.proven = *result.p < kLevel;
    result.least_shown = std::expm1(std::min(half_width(*effect, level), kMaxLog));
    if (is_within(*effect, log_margin, kLevel))
      result.decision = Decision::equal;
    else if (result.proven)
      result.decision = Decision::differs;
    else
      result.needed = more_needed(*effect, units, log_margin, level);
  }
}

Decision decision_of(const std::vector<CellResult>& cells) {
  const auto is = [](Decision decision) {
    return [decision](const CellResult& cell) { return cell.decision == decision; };
  };
  if (std::ranges::any_of(cells, is(Decision::differs))) return Decision::differs;
  return std::ranges::all_of(cells, is(Decision::equal)) ? Decision::equal : Decision::undecided;
}

std::string text_of(const Cell& cell) {
  return fmt::format("{} of {} bytes", fmt::join(cell.work, " "), cell.size.count());
}

std::string first_cell(const std::map<Cell, Units>& cells) {
  return cells.empty() ? "nothing" : text_of(cells.begin()->first);
}

}  // namespace

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
  Comparison comparison{.settings = settings};
  std::vector<Tested> tested;
  for (const auto& [cell, units] : of_a) {
    const auto other = of_b.find(cell);
    if (other == of_b.end()) {
      comparison.only_a.push_back(cell);
      continue;
    }
    const Pairing pairing = paired(units, other->second, settings.design);
    Tested one{.result = {.cell = cell, .a = side_of(pairing.a), .b = side_of(pairing.b)},
               .effect = effect_of(pairing, settings.design)};
    if (one.result.a.units == 0 || one.result.b.units == 0) {  // never in the same block
      comparison.only_a.push_back(cell);
      comparison.only_b.push_back(cell);
      continue;
    }
    one.result.ratio = one.result.b.mean / one.result.a.mean;
    tested.push_back(std::move(one));
  }
  for (const auto& [cell, units] : of_b)
    if (!of_a.contains(cell)) comparison.only_b.push_back(cell);
  if (tested.empty())
    return fail(ErrorKind::invalid_input, "no cell is on both sides: A has {}, B has {}", first_cell(of_a),
                first_cell(of_b));
  decide(tested, settings.margin);
  for (Tested& one : tested) comparison.cells.push_back(std::move(one.result));
  comparison.decision = decision_of(comparison.cells);
  return comparison;
}

}  // namespace weft::compare
