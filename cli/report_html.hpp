// --html FILE: the answer of a command as a report to look at.
#pragma once

#include <string>
#include <string_view>

#include "cli/options.hpp"

namespace weft::cli {

void add_html_option(po::options_description& options);

/// Where --html names a file, writes the report of this document there; `fabric` may be null. Errors:
/// invalid_input, usage (as web::report_page), and those of writing a file.
Result<void> write_html(const std::optional<std::string>& file, std::string_view json, const Fabric* fabric);

}  // namespace weft::cli
