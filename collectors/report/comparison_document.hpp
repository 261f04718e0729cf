// A comparison as a document (weft.comparison/1), written and read back: its report is made of it, be it of
// this run or of a file. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/report/comparison_report.hpp"
#include "topology/base/result.hpp"
#include "topology/files/document.hpp"

namespace weft::report {

std::string comparison_json(const ComparedRuns& runs, const files::DocumentStamp& stamp);

struct ComparisonDocument {
  compare::Comparison comparison;
  std::vector<compare::Run> a, b;
  std::optional<ComparedFabrics> fabrics = std::nullopt;
  std::string made;  // by which program, when

  /// Must not outlive this.
  ComparedRuns runs() const { return {comparison, a, b, fabrics ? &*fabrics : nullptr}; }
};

/// `name` names the document in errors. What it lacks is left out: values of runs, what the runs told of the
/// channels of the fabrics. Texts are such as may be shown. Errors: invalid_input, with the place (no
/// comparison, no number that a measurement has, more than 20,000 cells).
Result<ComparisonDocument> parse_comparison(std::string_view json, std::string_view name);

}  // namespace weft::report
