// A comparison as a document (weft.comparison/1), written and read back: its report is made of it, be it of
// this run or of a file. Pure.
#pragma once

#include <limits>
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

/// What is read of a file. Ten times the cells of the largest comparison that was measured.
struct DocumentLimits {
  std::size_t cells = 20'000;
  std::size_t values = 2'000'000;  // of runs and blocks, all cells together
};
/// Of a document that this program has just written: what was measured is read back.
inline constexpr DocumentLimits kNoLimits{std::numeric_limits<std::size_t>::max(),
                                          std::numeric_limits<std::size_t>::max()};

/// `name` names the document in errors. What it lacks is left out: values of runs, what the runs told of the
/// channels of the fabrics. Texts are such as may be shown. Errors: invalid_input, with the place (no
/// comparison, no number that a measurement has, a verdict that its cells do not give, more than `limits`).
Result<ComparisonDocument> parse_comparison(std::string_view json, std::string_view name,
                                            const DocumentLimits& limits = {});

}  // namespace weft::report
