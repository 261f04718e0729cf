// Documents of comparisons, read: whatever stands in them was written by somebody else.
#include <fmt/format.h>

#include <array>
#include <limits>

#include "collectors/report/comparison_document.hpp"
#include "collectors/report/comparison_members.hpp"

namespace weft::report {
namespace {

using compare::Cell;
using compare::CellResult;
using compare::Metric;
using files::JsonView;

constexpr std::size_t kMaxParts = 64;    // of a work: those of benchmarks have ten at most
constexpr std::size_t kMaxPart = 4'000;  // bytes; an older weft wrote all of them as one
constexpr std::array kMetrics{Metric::time, Metric::bandwidth, Metric::arrived, Metric::ways};
constexpr std::array kDecisions{compare::Decision::equal, compare::Decision::differs,
                                compare::Decision::undecided};

/// Of two such numbers.
Result<double> quotient(const JsonView& value) {
  WEFT_TRY(const double number, value.number());
  if (!(number > 0 && number <= 1e61)) return value.error("expected a number above 0, 1e61 at most");
  return number;
}

/// What is computed anew, and must be there all the same.
Result<void> check_members(const JsonView& object, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (const auto member = object.need(key); !member) return pass_on(member);
  return {};
}

Result<Cell> read_cell(const JsonView& view) {
  Cell cell;
  WEFT_TRY(auto work, text_at(view, "work"));
  if (const auto parts = view.find("work_parts")) {
    WEFT_TRY(const auto count, parts->size());
    if (count < 1 || count > kMaxParts) return parts->error("expected 1 to {} parts", kMaxParts);
    WEFT_TRY(cell.work, files::read_texts(*parts));
  } else {
    cell.work.push_back(std::move(work));
  }
  for (const std::string& part : cell.work)
    if (part.size() > kMaxPart)
      return view.error("a name of {} bytes: expected {} at most", part.size(), kMaxPart);
  WEFT_TRY(const JsonView size, view.need("size_bytes"));
  WEFT_TRY(const auto bytes, size.count<std::size_t>());
  if (bytes > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()))
    return size.error("expected fewer bytes");
  cell.size = Bytes(static_cast<std::int64_t>(bytes));
  WEFT_TRY(cell.metric, word_at(view, "metric", kMetrics));
  return cell;
}

/// The mean of logarithms of such numbers may be off in its last digits.
Result<double> mean_at(const JsonView& object, std::string_view key) {
  WEFT_TRY(const JsonView member, object.need(key));
  WEFT_TRY(const double mean, member.number());
  if (!(mean > 0.9e-30 && mean < 1.1e30)) return member.error("expected a number from 1e-30 to 1e30");
  return mean;
}

/// So many more values may follow.
Result<void> take_from(std::size_t& left, const JsonView& values, std::size_t size) {
  if (size > left) return values.error("the document has more values than are read of a file");
  left -= size;
  return {};
}

Result<compare::Side> read_side(const JsonView& view, std::size_t runs, std::size_t& values_left) {
  compare::Side side;
  WEFT_TRY(side.mean, mean_at(view, "mean"));
  WEFT_TRY(side.units, count_at(view, "units"));
  WEFT_TRY(const double spread, number_or(view, "spread", 0));
  side.spread = spread + 1;
  const auto values = view.find("values");
  if (!values) return side;
  WEFT_TRY(const auto size, values->size());
  if (size > runs) return values->error("{} values of {} runs", size, runs);
  WEFT_TRY_VOID(take_from(values_left, *values, size));
  for (std::size_t i = 0; i < size; ++i) {
    const JsonView value = values->at(i);
    auto& one = side.values.emplace_back();
    if (value.shown() == "null") continue;
    WEFT_TRY(one, measured(value));
  }
  return side;
}

Result<compare::FittedShare> read_fitted(const JsonView& view) {
  compare::FittedShare one;
  WEFT_TRY(one.share, number_or(view, "share", kInfinite));
  WEFT_TRY(one.low, number_or(view, "low", 0));
  WEFT_TRY(one.high, number_or(view, "high", kInfinite));
  return one;
}

Result<compare::DailyCycle> read_cycle(const JsonView& view) {
  compare::DailyCycle cycle;
  WEFT_TRY(const JsonView swing, view.need("swing"));
  WEFT_TRY(cycle.swing, read_fitted(swing));
  WEFT_TRY(cycle.proven, flag_at(view, "proven"));
  WEFT_TRY(cycle.highest_at, number_at(view, "highest_at"));
  if (!(cycle.highest_at >= 0 && cycle.highest_at <= 24))
    return view.error("highest_at: expected an hour from 0 to 24");
  if (const auto degree = view.find("per_degree")) {
    WEFT_TRY(cycle.per_degree, read_fitted(*degree));
  }
  return cycle;
}

/// A block of each side has two runs.
Result<std::vector<double>> read_blocks(const JsonView& view, const ComparisonDocument& document,
                                        std::size_t& values_left) {
  const auto blocks = view.find("blocks");
  if (!blocks) return std::vector<double>();
  WEFT_TRY(const auto size, blocks->size());
  const std::size_t runs = std::min(document.a.size(), document.b.size());
  if (size > runs / 2) return blocks->error("{} blocks of {} runs", size, runs);
  WEFT_TRY_VOID(take_from(values_left, *blocks, size));
  return files::read_array<double>(*blocks, quotient);
}

Result<CellResult> read_result(const JsonView& view, const ComparisonDocument& document,
                               std::size_t& values_left) {
  CellResult result;
  WEFT_TRY_VOID(check_members(view, {"unit", "proven", "advantage"}));
  WEFT_TRY(result.cell, read_cell(view));
  WEFT_TRY(const JsonView a, view.need("a"));
  WEFT_TRY(result.a, read_side(a, document.a.size(), values_left));
  WEFT_TRY(const JsonView b, view.need("b"));
  WEFT_TRY(result.b, read_side(b, document.b.size(), values_left));
  WEFT_TRY(const JsonView ratio, view.need("ratio"));
  WEFT_TRY(result.corrected, quotient(ratio));
  if (view.find("p")) {
    compare::CellResult::Test test;
    WEFT_TRY(test.p, number_at(view, "p"));
    WEFT_TRY(test.low, number_or(view, "low", 0));
    WEFT_TRY(test.high, number_or(view, "high", kInfinite));
    WEFT_TRY(test.least_shown, number_or(view, "least_shown", kInfinite));
    result.test = test;
  }
  WEFT_TRY(result.decision, word_at(view, "verdict", kDecisions));
  if (view.find("needed")) {
    WEFT_TRY(result.needed, count_at(view, "needed"));
  }
  WEFT_TRY(result.blocks, read_blocks(view, document, values_left));
  if (const auto cycle = view.find("cycle")) {
    WEFT_TRY(result.cycle, read_cycle(*cycle));
  }
  return result;
}

Result<compare::Run> read_run(const JsonView& view) {
  compare::Run run;
  WEFT_TRY(run.name, text_at(view, "name"));
  WEFT_TRY(run.wrong_rows, count_at(view, "wrong_rows"));
  WEFT_TRY(run.remarks, need_texts(view, "remarks"));
  return run;
}

Result<compare::Losses> read_losses(const JsonView& root, std::string_view missing,
                                    std::string_view incomplete, std::span<const compare::Run> runs) {
  compare::Losses losses;
  WEFT_TRY(losses.missing, need_items<Cell>(root, missing, read_cell));
  WEFT_TRY(losses.incomplete_runs, count_at(root, incomplete));
  for (const compare::Run& run : runs) losses.wrong_rows += run.wrong_rows;
  return losses;
}

Result<compare::Settings> read_settings(const JsonView& root) {
  compare::Settings settings;
  WEFT_TRY(settings.margin, measured_at(root, "margin"));
  WEFT_TRY(const auto design, text_at(root, "design"));
  if (design != "runs" && design != "blocks") return root.error("design: expected runs or blocks");
  settings.design = design == "blocks" ? compare::Design::blocks : compare::Design::runs;
  if (root.find("looks")) {
    WEFT_TRY(settings.looks, count_at(root, "looks"));
    if (settings.looks < 1) return root.error("looks: expected one at least");
  }
  return settings;
}

}  // namespace

Result<ComparisonDocument> parse_comparison(std::string_view json, std::string_view name,
                                            const DocumentLimits& limits) {
  WEFT_TRY(const auto value, files::parse_json(json, name));
  const JsonView whole(value, name);
  WEFT_TRY(const JsonView root, files::check_schema(whole, "weft.comparison/1"));
  ComparisonDocument document;
  auto& comparison = document.comparison;
  WEFT_TRY(comparison.settings, read_settings(root));
  WEFT_TRY_VOID(check_members(root, {"sentence"}));
  WEFT_TRY(document.a, need_items<compare::Run>(root, "a", read_run));
  WEFT_TRY(document.b, need_items<compare::Run>(root, "b", read_run));
  if (document.a.empty() || document.b.empty()) return root.error("a and b: expected one run at least");
  WEFT_TRY(const JsonView cells, root.need("cells"));
  WEFT_TRY(const auto size, cells.size());
  if (size < 1 || size > limits.cells) return cells.error("expected 1 to {} cells", limits.cells);
  std::size_t values_left = limits.values;
  WEFT_TRY(comparison.cells, files::read_array<CellResult>(cells, [&](const JsonView& cell) {
             return read_result(cell, document, values_left);
           }));
  WEFT_TRY(comparison.a, read_losses(root, "only_b", "incomplete_runs_a", document.a));
  WEFT_TRY(comparison.b, read_losses(root, "only_a", "incomplete_runs_b", document.b));
  WEFT_TRY(comparison.remarks, need_texts(root, "remarks"));
  WEFT_TRY(const auto verdict, word_at(root, "verdict", kDecisions));
  if (verdict != comparison.decision())
    return root.error("verdict: it says {}, and its cells and runs say {}", to_string(verdict),
                      to_string(comparison.decision()));
  if (const auto names = root.find("fabrics")) {
    WEFT_TRY(document.fabrics, read_fabrics(root, *names, comparison.cells));
  }
  WEFT_TRY(const auto version, text_at(root, "tool_version"));
  WEFT_TRY(const auto time, text_at(root, "generated_at"));
  document.made = fmt::format("weft {}, {}", version, time);
  return document;
}

}  // namespace weft::report
