#include "collectors/report/comparison_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "collectors/report/comparison_reasons.hpp"
#include "collectors/report/words.hpp"
#include "topology/base/readable.hpp"
#include "topology/base/text.hpp"
#include "topology/base/text_table.hpp"

namespace weft::report {
namespace {

using compare::Cell;
using compare::CellResult;
using compare::Comparison;
using compare::Decision;
using compare::Design;
using compare::Metric;

constexpr std::size_t kMaxOneSided = 8;  // cells that get a line

std::string percent(double share) {
  constexpr double kMaxPercent = 1000;  // more is not measured but guessed, from hardly any runs
  const double number = share * 100;
  if (number > kMaxPercent) return "over 1000 %";
  return number < 10 ? fmt::format("{:.2g} %", number) : fmt::format("{:.0f} %", number);
}

std::string ratio_number(double ratio) {
  constexpr double kMinFixed = 0.01;  // below it three digits behind the point are too few
  constexpr double kMaxFixed = 1000;
  return kMinFixed <= ratio && ratio < kMaxFixed ? fmt::format("{:.3f}", ratio)
                                                 : fmt::format("{:.3g}", ratio);
}

std::string better(const CellResult& cell) {
  return fmt::format("{} better by {}", better_side(cell.cell.metric, cell.ratio()),
                     percent(compare::advantage(cell.ratio())));
}

/// Exact: sizes of benchmarks are powers of two.
std::string size_text(const Cell& cell) {
  if (cell.metric == Metric::arrived || cell.metric == Metric::ways) return {};  // of no size
  const Bytes size = cell.size;
  constexpr std::pair<std::int64_t, const char*> kUnits[] = {
      {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}};
  for (const auto& [unit, name] : kUnits)
    if (size.count() > 0 && size.count() % unit == 0) return fmt::format("{} {}", size.count() / unit, name);
  return fmt::format("{} B", size.count());
}

std::string value_text(Metric metric, double value) {
  if (metric == Metric::bandwidth) return readable(Bandwidth::bit(value));
  if (metric == Metric::arrived) return fmt::format("{:.5g} %", value * 100);
  if (metric == Metric::ways) return fmt::format("{:.3g}", value);
  constexpr double kMaxSeconds = 1e9;  // beyond it no count of nanoseconds fits
  if (value > kMaxSeconds) return fmt::format("{:.3g} s", value);
  return readable(Nanoseconds(std::llround(value * 1e9)));
}

std::string ratio_text(const CellResult& cell) {
  const auto number = [&](double ratio) {
    return cell.cell.metric == Metric::arrived ? fmt::format("{:.5f}", ratio) : ratio_number(ratio);
  };
  if (!cell.test) return number(cell.ratio());
  return fmt::format("{} ({}-{})", number(cell.ratio()), number(cell.test->low), number(cell.test->high));
}

std::string_view unit_name(Design design) { return design == Design::blocks ? "block" : "run"; }

/// "more runs a side", of which `count`.
std::string more_text(Design design, std::size_t count) {
  return counted(count, fmt::format("more {}", unit_name(design)), ' ') +
         (design == Design::runs ? " a side" : "");
}

std::string undecided_text(const CellResult& cell, Design design) {
  if (!cell.test && cell.needed) {
    const auto spread = [](const compare::Side& side) {
      return side.units < 2 ? std::string("one alone") : "spread " + percent(side.spread - 1);
    };
    return fmt::format("undecided: A {}, B {}; {} needed", spread(cell.a), spread(cell.b),
                       more_text(design, *cell.needed));
  }
  if (!cell.test) return "undecided: the values never vary";
  const auto needed = cell.needed ? "about " + more_text(design, *cell.needed) + " would decide"
                                  : std::string("no number of them would decide soon");
  return fmt::format("undecided: {} would have shown; {}", percent(cell.test->least_shown), needed);
}

std::string verdict_text(const CellResult& cell, Design design) {
  switch (cell.decision) {
    case Decision::equal:
      return cell.proven() ? "equal; " + better(cell) : "equal";
    case Decision::differs:
      return better(cell);
    case Decision::undecided:
      return undecided_text(cell, design);
  }
  return "";
}

/// The words that all cells have: said once, not in every row.
std::vector<std::string> common_words(const std::vector<CellResult>& cells) {
  auto common = cells.front().cell.work;
  for (const CellResult& cell : cells)
    std::erase_if(common,
                  [&](const std::string& word) { return std::ranges::count(cell.cell.work, word) == 0; });
  return common;
}

/// The work and its size, within a sentence.
std::string named_text(const Cell& cell) {
  const auto size = size_text(cell);
  return work_text(cell) + (size.empty() ? "" : " " + size);
}

/// What is equal within: of what arrives less.
std::string margins_text(const Comparison& comparison) {
  const auto is_of_arrivals = [](const CellResult& cell) { return cell.cell.metric == Metric::arrived; };
  const double margin = comparison.settings.margin, least = comparison.settings.margin_of(Metric::arrived);
  if (std::ranges::none_of(comparison.cells, is_of_arrivals)) return percent(margin);
  if (std::ranges::all_of(comparison.cells, is_of_arrivals)) return percent(least);
  return least == margin ? percent(margin)
                         : fmt::format("{} ({} of what arrives)", percent(margin), percent(least));
}

std::string cell_table(const Comparison& comparison, std::size_t columns) {
  const auto common = common_words(comparison.cells);
  std::string text;
  if (!common.empty()) text += wrapped("all cells: " + joined(common, " "), 0, columns);
  TextTable table({{"work"}, {"size", true}, {"A", true}, {"B", true}, {"B/A (95 %)"}, {"verdict"}});
  for (const CellResult& cell : comparison.cells) {
    std::vector<std::string> own;
    std::ranges::copy_if(cell.cell.work, std::back_inserter(own),
                         [&](const std::string& word) { return std::ranges::count(common, word) == 0; });
    table.add({own.empty() ? "the same" : joined(own, " "), size_text(cell.cell),
               value_text(cell.cell.metric, cell.a.mean), value_text(cell.cell.metric, cell.b.mean),
               ratio_text(cell), verdict_text(cell, comparison.settings.design)});
  }
  return text + table.text(columns);
}

std::string one_sided_text(std::string_view side, const std::vector<Cell>& cells, std::size_t columns) {
  if (cells.empty()) return {};
  std::vector<std::string> names;
  for (const Cell& cell : cells) {
    if (names.size() == kMaxOneSided) break;
    names.push_back(named_text(cell));
  }
  if (cells.size() > kMaxOneSided) names.push_back(fmt::format("and {} more", cells.size() - kMaxOneSided));
  return wrapped(fmt::format("only in {}: {}", side, joined(names, ", ")), 0, columns, 2);
}

std::string design_text(const ComparedRuns& runs) {
  if (runs.comparison.settings.design == Design::blocks)
    return counted(runs.a.size() / 2, "block") + " A, B, B, A: slow drift cancels" +
           (runs.comparison.settings.looks > 1
                ? fmt::format("; intervals are wider, for each of {} planned looks has its share of the 5 %",
                              runs.comparison.settings.looks)
                : "");
  const bool is_corrected = std::ranges::any_of(
      runs.comparison.cells, [](const CellResult& cell) { return cell.cycle.has_value(); });
  return fmt::format("{} of A, {} of B, without blocks: {}", counted(runs.a.size(), "run"),
                     counted(runs.b.size(), "run"),
                     is_corrected ? "B/A is without the hour of day; what drifted otherwise is in it"
                                  : "what drifted between the runs of A and of B is in the ratio");
}

std::size_t count_of(const Comparison& comparison, Decision decision) {
  return static_cast<std::size_t>(std::ranges::count(comparison.cells, decision, &CellResult::decision));
}

/// The cycles that were taken out, the greatest first.
std::vector<std::string> cycle_remarks(const Comparison& comparison) {
  constexpr std::size_t kMaxTold = 4;
  std::vector<const CellResult*> cells;
  for (const CellResult& cell : comparison.cells)
    if (cell.cycle) cells.push_back(&cell);
  std::ranges::stable_sort(cells, std::greater(), [](const CellResult* cell) {
    return std::pair(cell->cycle->proven, cell->cycle->swing.share);
  });
  std::vector<std::string> remarks;
  for (std::size_t i = 0; i < std::min(cells.size(), kMaxTold); ++i)
    remarks.push_back(
        fmt::format("hour of day, {}: {}", cell_name(cells[i]->cell), to_string(*cells[i]->cycle)));
  if (cells.size() > kMaxTold)
    remarks.push_back(
        fmt::format("hour of day: {} cells more have a cycle each, no greater", cells.size() - kMaxTold));
  return remarks;
}

/// What the sides lost: "; 2 cells only in A, 1 row wrong in B"; nothing where they lost nothing.
std::string losses_text(const Comparison& comparison) {
  const auto& a = comparison.a;
  const auto& b = comparison.b;
  std::vector<std::string> parts;
  const auto add = [&](std::size_t count, std::string_view what, std::string_view where) {
    if (count > 0) parts.push_back(fmt::format("{} {}", counted(count, what), where));
  };
  add(b.missing.size(), "cell", "only in A");
  add(a.missing.size(), "cell", "only in B");
  add(a.wrong_rows, "row", "wrong in A");
  add(b.wrong_rows, "row", "wrong in B");
  add(a.incomplete_runs, "run", "incomplete in A");
  add(b.incomplete_runs, "run", "incomplete in B");
  return parts.empty() ? "" : "; " + joined(parts, ", ");
}

std::string difference_text(const Comparison& comparison, std::string_view margin) {
  const CellResult* most = nullptr;
  for (const CellResult& cell : comparison.cells)
    if (cell.decision == Decision::differs &&
        (!most || compare::advantage(cell.ratio()) > compare::advantage(most->ratio())))
      most = &cell;
  return fmt::format("A and B differ in {} of {}, most in {}: {}; {} equal within {}, {} undecided",
                     count_of(comparison, Decision::differs), counted(comparison.cells.size(), "cell"),
                     named_text(most->cell), better(*most), count_of(comparison, Decision::equal), margin,
                     count_of(comparison, Decision::undecided));
}

/// Of the runs, a remark once: with the run's name, or with the number of runs that have it.
std::vector<std::string> remarks_of_runs(const ComparedRuns& runs) {
  struct Said {
    std::string text, first;
    std::size_t runs = 0;
  };
  std::vector<Said> said;                    // in the order in which they come
  std::map<std::string, std::size_t> known;  // places in it
  for (const auto side : {runs.a, runs.b})
    for (const compare::Run& run : side)
      for (const std::string& remark : run.remarks) {
        const auto [place, is_new] = known.try_emplace(remark, said.size());
        if (is_new) said.push_back({remark, run.name});
        ++said[place->second].runs;
      }
  std::vector<std::string> remarks;
  for (const Said& one : said)
    remarks.push_back(one.runs == 1
                          ? fmt::format("{}: {}", one.first, one.text)
                          : fmt::format("in {} runs ({} first): {}", one.runs, one.first, one.text));
  return remarks;
}

/// The verdict in one sentence.
std::string sentence_of(const Comparison& comparison) {
  const auto margin = margins_text(comparison);
  const auto cells = counted(comparison.cells.size(), "cell");
  const std::size_t undecided = count_of(comparison, Decision::undecided);
  std::string text;
  switch (comparison.decision()) {
    case Decision::equal:
      return fmt::format("A and B are equal within {} in {}", margin, cells);
    case Decision::differs:
      text = difference_text(comparison, margin);
      break;
    case Decision::undecided:
      text = undecided > 0 ? fmt::format("undecided: {} of {}; {} equal within {}", undecided, cells,
                                         count_of(comparison, Decision::equal), margin)
                           : fmt::format("undecided, though equal within {} in {}", margin, cells);
      break;
  }
  return text + losses_text(comparison);
}

}  // namespace

std::string comparison_sentence(const ComparedRuns& runs) {
  auto sentence = sentence_of(runs.comparison);
  if (runs.fabrics) sentence += main_reason(runs.comparison, *runs.fabrics);
  std::ranges::replace(sentence, kNoBreak, ' ');
  return sentence;
}

std::vector<std::string> comparison_remarks(const ComparedRuns& runs) {
  auto all = cycle_remarks(runs.comparison);
  all.insert(all.end(), runs.comparison.remarks.begin(), runs.comparison.remarks.end());
  if (runs.fabrics) all.insert(all.end(), runs.fabrics->remarks.begin(), runs.fabrics->remarks.end());
  for (std::string& remark : remarks_of_runs(runs)) all.push_back(std::move(remark));
  return all;
}

std::string cell_verdict(const CellResult& cell, Design design) {
  auto text = verdict_text(cell, design);
  std::ranges::replace(text, kNoBreak, ' ');
  return text;
}

std::string work_text(const Cell& cell) { return joined(cell.work, " "); }

std::string cell_name(const Cell& cell) {
  const auto size = size_text(cell);
  return joined(cell.work, size.empty() ? ", " : " ") + (size.empty() ? "" : ", " + size);
}

std::string cell_value(Metric metric, double value) { return value_text(metric, value); }

std::string cell_ratio(const CellResult& cell) { return ratio_text(cell); }

std::string comparison_table(const ComparedRuns& runs, std::size_t columns) {
  const Comparison& comparison = runs.comparison;
  std::string text = wrapped(comparison_sentence(runs), 0, columns) + "\n";
  if (runs.fabrics)
    text += wrapped(fmt::format("A: {}; B: {}", runs.fabrics->a, runs.fabrics->b), 0, columns);
  text += cell_table(comparison, columns) + "\n";
  if (runs.fabrics && runs.fabrics->measured_a) text += reasons_text(runs, columns);
  text += wrapped(design_text(runs), 0, columns) + one_sided_text("A", comparison.b.missing, columns) +
          one_sided_text("B", comparison.a.missing, columns);
  for (const std::string& remark : comparison_remarks(runs)) text += wrapped(remark, 0, columns, 2);
  return text;
}

}  // namespace weft::report
