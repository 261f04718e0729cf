// Files as text, whole with a bound on their size or piece by piece; an Error names the file and what to do.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft::files {

/// Gives the file's bytes to `take`, piece by piece, until it refuses one.
Result<void> read_pieces(const std::filesystem::path& path,
                         const std::function<Result<void>(std::string_view)>& take);

/// The file's bytes; refused when it is no ordinary file or pipe, or holds more than `most`.
Result<std::string> read_text_file(const std::filesystem::path& path, Bytes most);

/// Writes beside `path` first and renames, so that a reader never sees half a file. Symbolic links of
/// this user and of root are followed, those of others replaced; what is no ordinary file stays what it is
/// and is written into.
Result<void> write_text_file(const std::filesystem::path& path, std::string_view text);

}  // namespace weft::files
