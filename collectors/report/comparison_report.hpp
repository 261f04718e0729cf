// Two fabrics compared (weft compare): a table for people, and rows for programs. As a document:
// comparison_document.hpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectors/compare/comparison.hpp"
#include "collectors/compare/congestion_counts.hpp"
#include "collectors/compare/layers.hpp"
#include "collectors/compare/measured_fabric.hpp"
#include "collectors/compare/slow_places.hpp"
#include "topology/files/row_text.hpp"

namespace weft::report {

/// Of runs that weft made itself: what the sides are, and why they differ.
struct ComparedFabrics {
  std::string a, b;  // how the sides are called
  std::vector<compare::Reasons> reasons;
  std::vector<compare::NamedPlace> named_a, named_b;
  std::optional<compare::MeasuredFabric> measured_a, measured_b;  // none of benchmarks
  std::vector<std::string> remarks;                               // what went wrong, a sentence each
  std::vector<compare::SlowPlace> slow_a = {}, slow_b = {};
  std::vector<compare::CongestionCount> congestion = {};
  std::vector<std::string> not_told = {};
  std::vector<std::string> impossible = {};  // what a side cannot carry, a sentence each
};

/// What was compared, with its runs. All are of the caller, and must outlive this.
struct ComparedRuns {
  const compare::Comparison& comparison;
  std::span<const compare::Run> a;
  std::span<const compare::Run> b;
  const ComparedFabrics* fabrics = nullptr;  // none of recorded runs
};

/// The verdict in one sentence, for programs and headings: no line is to be broken in it.
std::string comparison_sentence(const ComparedRuns& runs);
/// What is on one side alone is lost; what does not count and what both sides are said to be.
std::vector<std::string> comparison_remarks(const ComparedRuns& runs);
/// The verdict of a cell, in words.
std::string cell_verdict(const compare::CellResult& cell, compare::Design design);
/// "all_reduce float sum": what was measured, with its settings.
std::string work_text(const compare::Cell& cell);
/// "all-pairs slowest flow, 4 KiB".
std::string cell_name(const compare::Cell& cell);
/// Values and ratios of cells as people read them.
std::string cell_value(compare::Metric metric, double value);
std::string cell_ratio(const compare::CellResult& cell);

/// The verdict in one sentence, a row a cell, what is on one side alone, and what does not count.
std::string comparison_table(const ComparedRuns& runs, std::size_t columns = 80);
/// A row a cell, then what is on one side alone, and remarks: the sentence first.
files::RowSet comparison_rows(const ComparedRuns& runs);

}  // namespace weft::report
