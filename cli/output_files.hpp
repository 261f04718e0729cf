// The files that a command writes, looked at before it begins: what cannot be written, and what it reads; and
// of these the report to look at.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.hpp"

namespace weft::cli {

/// Error where a file of `written` (names of options) is one that the command reads (`read`) or writes by
/// another option: one would take the other's place.
Result<void> check_files_apart(const po::variables_map& values, std::span<const char* const> written,
                               std::span<const char* const> read);

/// The same, and where one is a folder or cannot be written.
Result<void> check_output_files(const po::variables_map& values, std::span<const char* const> written,
                                std::span<const char* const> read);

/// --html FILE: the answer of a command as a report to look at.
void add_html_option(po::options_description& options);

/// Where --html names a file, writes the report of this document there; `fabrics` as in web::report_page.
/// Errors: its own, and those of writing a file.
Result<void> write_html(const std::optional<std::string>& file, std::string_view json,
                        const std::vector<const Fabric*>& fabrics);

}  // namespace weft::cli
