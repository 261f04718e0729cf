// Whole files as text, with a bound on their size; an Error names the file and what to do.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft::files {

/// The file's bytes; refused when it is no ordinary file or pipe, or holds more than `most`.
Result<std::string> read_text_file(const std::filesystem::path& path, Bytes most);

/// Writes beside `path` first and renames, so that a reader never sees half a file.
Result<void> write_text_file(const std::filesystem::path& path, std::string_view text);

}  // namespace weft::files
