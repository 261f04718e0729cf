// The files that a command writes, looked at before it begins: what cannot be written, and what it reads.
#pragma once

#include <span>

#include "cli/options.hpp"

namespace weft::cli {

/// Error where a file of `written` (names of options) is one that the command reads (`read`) or writes by
/// another option: one would take the other's place.
Result<void> check_files_apart(const po::variables_map& values, std::span<const char* const> written,
                               std::span<const char* const> read);

/// The same, and where one is a folder or cannot be written.
Result<void> check_output_files(const po::variables_map& values, std::span<const char* const> written,
                                std::span<const char* const> read);

}  // namespace weft::cli
