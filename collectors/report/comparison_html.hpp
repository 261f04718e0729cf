// A comparison as a report to look at: one HTML file that opens offline, runs nothing and asks for nothing.
#pragma once

#include <string>

#include "collectors/report/comparison_report.hpp"

namespace weft::report {

/// The verdict first, in one sentence; why, by layer; the effect of each cell as a forest plot; the fabrics
/// with what was named in them; the ratio of each block. Every chart has its table. Names from outside are
/// escaped; the page's policy lets no script and no request be.
std::string comparison_html(const ComparedRuns& runs, const files::DocumentStamp& stamp);

}  // namespace weft::report
