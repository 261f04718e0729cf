#include "collectors/report/comparison_reasons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "collectors/report/words.hpp"
#include "topology/base/readable.hpp"
#include "topology/base/text.hpp"

namespace weft::report {
namespace {

using compare::CellResult;
using compare::Decision;
using compare::LayerShare;
using compare::NamedPlace;
using compare::Reasons;

/// No "-0".
std::string rounded(double share) { return fmt::format("{:.0f}", std::round(share * 100) + 0.0); }

/// Less of a difference is not worth a word.
constexpr double kMinTold = 0.05;
/// A layer with this share is what the difference is mostly by.
constexpr double kMostly = 0.5;

using ReasonsByCell = std::map<compare::Cell, const Reasons*>;

ReasonsByCell reasons_by_cell(const ComparedFabrics& fabrics) {
  ReasonsByCell all;
  for (const Reasons& reasons : fabrics.reasons) all.try_emplace(reasons.cell, &reasons);
  return all;
}

/// Of those that differ and are in `among` (null: all), the one with the greatest difference.
const CellResult* worst_cell(const compare::Comparison& comparison, const ReasonsByCell* among) {
  const CellResult* worst = nullptr;
  for (const CellResult& cell : comparison.cells)
    if (cell.decision == Decision::differs && (!among || among->contains(cell.cell)) &&
        (!worst || compare::advantage(cell.ratio()) > compare::advantage(worst->ratio())))
      worst = &cell;
  return worst;
}

char worse_side(const CellResult& cell) {
  return compare::better_side(cell.cell.metric, cell.ratio()) == 'A' ? 'B' : 'A';
}

std::string value_text(const NamedPlace& place) {
  if (!place.value) return "";
  switch (place.cause) {
    case Cause::loss:
    case Cause::corruption:
      return fmt::format(", {:.2g} % lost", *place.value * 100);
    case Cause::rate:
    case Cause::congestion:
      return fmt::format(", {:.0f} % of its rate left", *place.value * 100);
    case Cause::delay:
      return fmt::format(", {} more", readable(Nanoseconds(std::llround(*place.value * 1e9))));
    case Cause::mtu:
      return fmt::format(", up to {:.0f} bytes", *place.value);
    case Cause::down:
    case Cause::counter:
      return "";
  }
  return "";
}

std::string named_text(char side, const std::vector<NamedPlace>& places, std::size_t runs) {
  if (places.empty()) return fmt::format("named in {}: nothing", side);
  std::vector<std::string> words;
  for (const NamedPlace& place : places) words.push_back(place_text(place, runs));
  return fmt::format("named in {}: {}", side, joined(words, ", "));
}

std::string layers_text(const CellResult& cell, const Reasons& reasons) {
  if (reasons.asked) return fmt::format("{}: {}", cell_name(cell.cell), asked_text(*reasons.asked));
  std::vector<std::string> parts;
  for (const LayerShare& share : reasons.layers) {
    if (std::abs(share.share) < kMinTold) continue;
    parts.push_back(fmt::format("{} {}{}", to_string(share.layer), share_text(share),
                                share.places.empty() ? "" : ", " + joined(share.places, ", ")));
  }
  if (std::abs(reasons.joint) >= kMinTold)
    parts.push_back(fmt::format("several together {:.0f} %", reasons.joint * 100));
  parts.push_back(fmt::format("unexplained {:.0f} %", reasons.unexplained * 100));
  return fmt::format("{}: {} is worse by {:.0f} %: {}", cell_name(cell.cell), worse_side(cell),
                     compare::advantage(cell.ratio()) * 100, joined(parts, "; "));
}

/// What the worse side alone has: the reason at hand where no share is proven.
std::string named_alone(char worse, const ComparedFabrics& fabrics) {
  const auto& its = worse == 'A' ? fabrics.named_a : fabrics.named_b;
  const auto& others = worse == 'A' ? fabrics.named_b : fabrics.named_a;
  std::vector<std::string> words;
  for (const NamedPlace& place : its)
    if (std::ranges::find(others, place.place, &NamedPlace::place) == others.end())
      words.push_back(fmt::format("{} ({})", place.place, to_string(place.cause)));
  return words.empty() ? "" : fmt::format("; at fault in {} alone: {}", worse, joined(words, ", "));
}

}  // namespace

std::string share_text(const LayerShare& share) {
  if (!share.interval) return rounded(share.share) + " %";
  return fmt::format("{} % ({} to {})", rounded(share.share), rounded(share.interval->first),
                     rounded(share.interval->second));
}

std::string asked_text(std::pair<double, double> asked) {
  return fmt::format("a flow of A asked for {}, one of B for {}: no layer is blamed. Ask both for the same",
                     cell_value(compare::Metric::bandwidth, asked.first),
                     cell_value(compare::Metric::bandwidth, asked.second));
}

std::string place_text(const NamedPlace& place, std::size_t runs) {
  return fmt::format("{} ({}{}; in {} of {} runs)", place.place, to_string(place.cause), value_text(place),
                     place.runs, runs);
}

const LayerShare* main_layer(const Reasons& reasons) {
  if (reasons.layers.empty()) return nullptr;
  const LayerShare& first = reasons.layers.front();
  return first.share >= kMostly && first.interval && first.interval->first > 0 ? &first : nullptr;
}

std::string main_reason(const compare::Comparison& comparison, const ComparedFabrics& fabrics) {
  const auto all = reasons_by_cell(fabrics);
  const CellResult* worst = worst_cell(comparison, &all);
  if (!worst) {
    worst = worst_cell(comparison, nullptr);
    return worst ? named_alone(worse_side(*worst), fabrics) : "";
  }
  const Reasons* reasons = all.at(worst->cell);
  if (reasons->asked) return "; they were asked for different rates";
  const LayerShare* layer = main_layer(*reasons);
  if (!layer) return named_alone(worse_side(*worst), fabrics);
  return fmt::format("; mostly by {}{}", to_string(layer->layer),
                     layer->places.empty() ? "" : ", " + joined(layer->places, ", "));
}

std::string reasons_text(const ComparedRuns& runs, std::size_t columns) {
  const ComparedFabrics& fabrics = *runs.fabrics;
  const auto all = reasons_by_cell(fabrics);
  std::string text;
  std::set<std::string> advice;
  for (const CellResult& cell : runs.comparison.cells) {
    const auto at = cell.proven() ? all.find(cell.cell) : all.end();
    if (at == all.end()) continue;
    const Reasons* reasons = at->second;
    if (text.empty()) text += "why: what share of the difference goes with a layer (95 %)\n";
    text += wrapped(layers_text(cell, *reasons), 2, columns, 2);
    if (const LayerShare* layer = main_layer(*reasons); layer && cell.decision == Decision::differs)
      advice.insert(compare::advice_of(layer->layer, worse_side(cell)));
  }
  text += wrapped(named_text('A', fabrics.named_a, runs.a.size()), 0, columns, 2);
  text += wrapped(named_text('B', fabrics.named_b, runs.b.size()), 0, columns, 2);
  for (const std::string& what : beside_layers(fabrics)) text += wrapped(what, 0, columns, 2);
  for (const std::string& what : advice) text += wrapped("do: " + what, 0, columns, 2);
  return text + "\n";
}

std::vector<std::string> beside_layers(const ComparedFabrics& fabrics) {
  std::vector<std::string> said;
  for (const auto& [side, slow] : {std::pair('A', &fabrics.slow_a), std::pair('B', &fabrics.slow_b)})
    for (const compare::SlowPlace& place : *slow)
      said.push_back(fmt::format("slow in {}: {}", side, to_string(place)));
  for (const compare::CongestionCount& count : fabrics.congestion)
    said.push_back("counted: " + to_string(count));
  for (const std::string& what : fabrics.not_told) said.push_back("not told: " + what);
  for (const std::string& what : fabrics.impossible) said.push_back("impossible here: " + what);
  return said;
}

}  // namespace weft::report
