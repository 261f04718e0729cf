// A comparison as a report to look at: one HTML file that opens offline and asks for nothing.
#pragma once

#include <string>

#include "collectors/report/comparison_report.hpp"
#include "topology/base/html_page.hpp"

namespace weft::report {

/// The verdict first, in one sentence; why, by layer; the effect of each cell as a forest plot; the fabrics
/// with what was named in them; the ratio of each block. Every chart has its table. Names from outside are
/// escaped; the page's policy lets no script be but `script`, and no request.
std::string comparison_html(const ComparedRuns& runs, const files::DocumentStamp& stamp,
                            const PageScript& script = {});

}  // namespace weft::report
