#include <algorithm>

#include "collectors/web/page_server.hpp"
#include "topology/os/private_file.hpp"

namespace weft::web {
namespace {

constexpr std::size_t kMinLength = 16;
constexpr std::size_t kMaxLength = 256;
constexpr std::size_t kMaxFile = 4096;

}  // namespace

Result<std::string> read_token(const std::filesystem::path& file) {
  WEFT_TRY(auto line, os::read_private_file(file, "the token file", kMaxFile));
  auto text = os::without_line_end(std::move(line));
  const bool printable = std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
  if (text.size() < kMinLength || text.size() > kMaxLength || !printable)
    return fail(ErrorKind::invalid_input,
                "token file {}: expected one line of {} to {} printable characters (openssl rand -hex 32)",
                file.string(), kMinLength, kMaxLength);
  return text;
}

}  // namespace weft::web
