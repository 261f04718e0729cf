#include "topology/files/file_text.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace weft::files {
namespace {

ErrorKind kind_of(int error) {
  if (error == EACCES || error == EPERM) return ErrorKind::permission;
  return error == ENOENT || error == ENOTDIR ? ErrorKind::not_found : ErrorKind::absent;
}

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

Result<void> read_pieces(const std::filesystem::path& path,
                         const std::function<Result<void>(std::string_view)>& take) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return fail(ErrorKind::invalid_input, "{} is a folder: expected a file", path.string());
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(kind_of(errno), "{} cannot be opened: {}", path.string(), reason(errno));
  std::array<char, 1 << 16> block;
  while (in.read(block.data(), block.size()) || in.gcount() > 0)
    WEFT_TRY_VOID(take({block.data(), static_cast<std::size_t>(in.gcount())}));
  if (in.bad()) return fail(ErrorKind::absent, "{} cannot be read", path.string());
  return {};
}

Result<std::string> read_text_file(const std::filesystem::path& path, Bytes most) {
  std::string text;
  WEFT_TRY_VOID(read_pieces(path, [&](std::string_view piece) -> Result<void> {
    text.append(piece);
    if (text.size() > static_cast<std::size_t>(most.count()))
      return fail(ErrorKind::invalid_input, "{} is larger than {}", path.string(), to_string(most));
    return {};
  }));
  return text;
}

Result<void> write_text_file(const std::filesystem::path& path, std::string_view text) {
  auto beside = path;
  beside += fmt::format(".{}.part", getpid());
  errno = 0;
  std::ofstream out(beside, std::ios::binary | std::ios::trunc);
  if (!out) return fail(kind_of(errno), "{} cannot be written: {}", path.string(), reason(errno));
  out << text;
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(beside, path, error);
  if (!out || error) {
    const auto why = error ? error.message() : reason(errno);
    std::filesystem::remove(beside, error);
    return fail(ErrorKind::absent, "{} cannot be written: {}", path.string(), why);
  }
  return {};
}

}  // namespace weft::files
