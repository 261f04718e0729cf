#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "collectors/web/page_server.hpp"
#include "topology/files/file_text.hpp"

namespace weft::web {
namespace {

constexpr std::size_t kMinLength = 16;
constexpr std::size_t kMaxLength = 256;

}  // namespace

Result<std::string> read_token(const std::filesystem::path& file) {
  struct stat about {};
  if (::stat(file.c_str(), &about) != 0)
    return fail(errno == ENOENT ? ErrorKind::not_found : ErrorKind::permission, "token file {}: {}",
                file.string(), std::strerror(errno));
  if ((about.st_mode & 077) != 0)
    return fail(ErrorKind::permission, "token file {}: others may read or change it: chmod 600 it",
                file.string());
  if (about.st_uid != ::geteuid() && about.st_uid != 0)
    return fail(ErrorKind::permission, "token file {}: it is neither yours nor root's", file.string());
  WEFT_TRY(auto text, files::read_text_file(file, Bytes(4096)));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const bool printable = std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
  if (text.size() < kMinLength || text.size() > kMaxLength || !printable)
    return fail(ErrorKind::invalid_input,
                "token file {}: expected one line of {} to {} printable characters (openssl rand -hex 32)",
                file.string(), kMinLength, kMaxLength);
  return text;
}

}  // namespace weft::web
