// Comparisons as rows.
#include <fmt/format.h>

#include "collectors/report/comparison_report.hpp"
#include "collectors/report/words.hpp"
#include "topology/base/text.hpp"

namespace weft::report {
namespace {

using compare::Cell;
using compare::CellResult;
using compare::Comparison;

/// The columns of both kinds of cells.
std::vector<files::RowValue> row_of(const Cell& cell) {
  return {joined(cell.work, " "), cell.size.count(), std::string(to_string(cell.metric)),
          std::string(unit_of(cell.metric))};
}

std::vector<files::RowValue> row_of(const CellResult& cell) {
  auto row = row_of(cell.cell);
  const auto tested = [&](double CellResult::Test::*number) {
    return cell.test ? files::RowValue(*cell.test.*number) : files::RowValue();
  };
  const auto side = better_side(cell.cell.metric, cell.ratio());
  row.insert(row.end(),
             std::initializer_list<files::RowValue>{
                 cell.a.mean, cell.b.mean, cell.ratio(), tested(&CellResult::Test::low),
                 tested(&CellResult::Test::high), tested(&CellResult::Test::p),
                 std::string(to_string(cell.decision)), std::string(cell.proven() ? "yes" : "no"),
                 cell.proven() ? files::RowValue(std::string(1, side)) : files::RowValue(),
                 tested(&CellResult::Test::least_shown),
                 cell.needed ? files::RowValue(static_cast<std::int64_t>(*cell.needed)) : files::RowValue()});
  return row;
}

}  // namespace

files::RowSet comparison_rows(const ComparedRuns& runs) {
  files::RowSet set{.columns = {"work", "size_bytes", "metric", "unit", "a", "b", "ratio", "low", "high", "p",
                                "verdict", "proven", "better", "least_shown", "needed", "row", "remark"}};
  const auto add = [&](std::vector<files::RowValue> row, std::string_view kind, files::RowValue remark = {}) {
    row.resize(set.columns.size() - 2);
    row.emplace_back(std::string(kind));
    row.push_back(std::move(remark));
    set.rows.push_back(std::move(row));
  };
  const Comparison& comparison = runs.comparison;
  for (const CellResult& cell : comparison.cells) add(row_of(cell), "cell");
  for (const Cell& cell : comparison.b.missing) add(row_of(cell), "only_a");
  for (const Cell& cell : comparison.a.missing) add(row_of(cell), "only_b");
  add({}, "remark", comparison_sentence(runs));
  for (std::string& remark : comparison_remarks(runs)) add({}, "remark", std::move(remark));
  return set;
}

}  // namespace weft::report
