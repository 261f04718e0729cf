// What stands in the report of a comparison, as HTML; who writes the page (collectors/web/report_page) adds
// frame, drawings and script. Pure.
#pragma once

#include <string>
#include <string_view>

#include "collectors/report/comparison_report.hpp"

namespace weft::report {

/// The verdict first, in one sentence; why, by layer; the effect of each cell as a forest plot; `drawings`
/// (HTML, of the fabrics) and where flows contend in them; the ratio of each block; quantile functions. Every
/// chart has its table. Names from outside are escaped.
std::string comparison_html(const ComparedRuns& runs, std::string_view drawings = {});

}  // namespace weft::report
