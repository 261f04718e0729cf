// A document of weft as one file to look at, which opens offline: the parts that collectors/report makes of
// it, the fabric drawn by tier with what the document holds against its cables, and the script that draws,
// searches and saves, of the same files as the live page.
#pragma once

#include <string>
#include <string_view>

#include "topology/base/html_page.hpp"
#include "topology/base/result.hpp"
#include "topology/model/fabric.hpp"

namespace weft::web {

/// `name` names the document in errors. Without a fabric what the flows of the document crossed is drawn,
/// where it tells. Errors: invalid_input (as report::document_parts), usage (a document of another fabric).
Result<std::string> report_page(std::string_view json, std::string_view name, const Fabric* fabric);

/// That puts a button to save it beside each chart and each table of a page.
PageScript saving_script();

}  // namespace weft::web
