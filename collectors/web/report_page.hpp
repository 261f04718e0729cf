// A document of weft as one file to look at, which opens offline: the parts that collectors/report makes of
// it, fabrics drawn by tier with what the document holds against their cables, and the script that draws,
// searches and saves, of the same files as the live page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collectors/report/comparison_document.hpp"
#include "topology/base/result.hpp"
#include "topology/model/fabric.hpp"

namespace weft::web {

/// `name` names the document in errors. `fabrics`: of a comparison those of A and of B, or one that is both;
/// of other documents one. Without it what the flows of a sweep crossed is drawn, where it tells. Errors:
/// invalid_input (as report::document_parts and report::parse_comparison), usage (a document of another
/// fabric, too many). `limits`: of a comparison.
Result<std::string> report_page(std::string_view json, std::string_view name,
                                const std::vector<const Fabric*>& fabrics = {},
                                const report::DocumentLimits& limits = {});

}  // namespace weft::web
