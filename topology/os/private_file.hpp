// Files that hold a secret: read only where nobody else can have read or changed them; written so that nobody
// can.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "topology/base/result.hpp"

namespace weft::os {

/// The file's bytes, at most `most`. `what`: as errors call it ("the credential"). It must be this user's or
/// root's, and closed to all others; of root's, a group may read: so systemd hands credentials to a service
/// (a list of access rights shows as its group). Errors: not_found, permission (with what mends it),
/// invalid_input (no ordinary file, or too long).
Result<std::string> read_private_file(const std::filesystem::path& path, std::string_view what,
                                      std::size_t most);
/// A secret of one line, as it was read, without what ends the line.
std::string without_line_end(std::string text);

/// The mode of a file that holds no secret.
inline constexpr unsigned kReadByAll = 0644;

enum class Existing : std::uint8_t { refused, replaced };
/// Unlike files::write_text_file it is on the disk when this returns, and nobody else's file beside it is
/// written through. With `mode`; one that is there is replaced as a whole, or refused. Errors: conflict (it
/// is there), permission, absent (no such directory, a full disk).
Result<void> write_whole_file(const std::filesystem::path& path, std::string_view text, unsigned mode,
                              Existing existing);

}  // namespace weft::os
