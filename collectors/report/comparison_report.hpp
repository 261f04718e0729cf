// Two fabrics compared (weft compare): a table for people, a document (weft.comparison/1) and rows for
// programs.
#pragma once

#include <span>
#include <string>

#include "collectors/compare/comparison.hpp"
#include "topology/files/document.hpp"
#include "topology/files/row_text.hpp"

namespace weft::report {

/// What was compared, with its runs. All are of the caller, and must outlive this.
struct ComparedRuns {
  const compare::Comparison& comparison;
  std::span<const compare::Run> a;
  std::span<const compare::Run> b;
};

/// The verdict in one sentence, a row a cell, what is on one side alone, and what does not count.
std::string comparison_table(const ComparedRuns& runs, std::size_t columns = 80);
std::string comparison_json(const ComparedRuns& runs, const files::DocumentStamp& stamp);
/// A row a cell, then what is on one side alone, and remarks: the sentence first.
files::RowSet comparison_rows(const ComparedRuns& runs);

}  // namespace weft::report
