#include "topology/files/file_text.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statfs.h>
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

constexpr auto kPipes = 0x50495045;  // the file system of pipes without a name (linux/magic.h)
/// In milliseconds: a shell that starts both sides of a pipe does it at once.
constexpr int kPatience = 2000;

struct OpenFile {
  explicit OpenFile(int opened) : number(opened) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (number >= 0) ::close(number);
  }
  int number;
};

/// Until there is something to read, an end of it, or `milliseconds` (-1: whatever it takes) have passed:
/// false.
bool wait_for_bytes(int file, int milliseconds) {
  pollfd one{.fd = file, .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, milliseconds) > 0;
}

/// A pipe with a name may get a writer yet; that of a shell (`<(...)`, /dev/stdin) has had one.
bool is_named_pipe(int file, const struct stat& kind) {
  struct statfs place {};
  return S_ISFIFO(kind.st_mode) && !(fstatfs(file, &place) == 0 && place.f_type == kPipes);
}

}  // namespace

Result<void> read_pieces(const std::filesystem::path& path,
                         const std::function<Result<void>(std::string_view)>& take) {
  // Without waiting: a named pipe would hold us until somebody opens it to write.
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.number < 0) return fail(kind_of(errno), "{} cannot be opened: {}", path.string(), reason(errno));
  struct stat kind {};
  if (fstat(file.number, &kind) == 0 && S_ISDIR(kind.st_mode))
    return fail(ErrorKind::invalid_input, "{} is a folder: expected a file", path.string());
  bool awaits_writer = is_named_pipe(file.number, kind);
  std::array<char, 1 << 16> block;
  while (true) {
    const auto got = ::read(file.number, block.data(), block.size());
    if (got == 0 && !awaits_writer) return {};
    if (got == 0 && !wait_for_bytes(file.number, kPatience))
      return fail(ErrorKind::invalid_input, "{} is a pipe, and nobody writes to it", path.string());
    awaits_writer = false;
    if (got > 0)
      WEFT_TRY_VOID(take({block.data(), static_cast<std::size_t>(got)}));
    else if (got < 0 && errno == EAGAIN)
      wait_for_bytes(file.number, -1);
    else if (got < 0 && errno != EINTR)
      return fail(ErrorKind::absent, "{} cannot be read: {}", path.string(), reason(errno));
  }
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

namespace {

/// Whether it is a symbolic link that this user or root made: one of anybody else may lead where only we may
/// write.
bool is_our_link(const std::filesystem::path& path) {
  struct stat kind {};
  return lstat(path.c_str(), &kind) == 0 && S_ISLNK(kind.st_mode) &&
         (kind.st_uid == geteuid() || kind.st_uid == 0);
}

/// The name of a pipe or socket that is open, as /dev/fd/63 of a shell's >(...): its link leads to no path
/// ("pipe:[1920137]").
bool is_open_pipe(const std::filesystem::path& path) {
  std::error_code error;
  const auto to = std::filesystem::read_symlink(path, error).native();
  const auto& name = path.native();
  return !error && to.find(":[") != std::string::npos &&
         (name.starts_with("/proc/") || name.starts_with("/dev/fd/"));
}

/// Where a write to `path` ends up: the last of a chain of our symbolic links, also where it leads to nothing
/// yet; or the name of an open pipe.
std::filesystem::path followed(std::filesystem::path path) {
  constexpr int kMaxLinks = 40;  // as Linux follows
  std::error_code error;
  for (int link = 0; link < kMaxLinks && is_our_link(path) && !is_open_pipe(path); ++link) {
    const auto to = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = to.is_absolute() ? to : path.parent_path() / to;
  }
  return path;
}

/// Into a device, or a pipe that somebody reads: one that nobody reads is an error.
Result<void> write_through(const std::filesystem::path& path, std::string_view text) {
  const int as_it_is = is_open_pipe(path) ? 0 : O_NOFOLLOW;
  const OpenFile file(::open(path.c_str(), O_WRONLY | O_NONBLOCK | as_it_is | O_CLOEXEC));
  if (file.number >= 0) fcntl(file.number, F_SETFL, 0);  // a slow reader of a pipe is waited for
  while (file.number >= 0 && !text.empty()) {
    const auto put = ::write(file.number, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) break;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  if (text.empty()) return {};
  return fail(kind_of(errno), "{} cannot be written: {}", path.string(), reason(errno));
}

}  // namespace

Result<void> write_text_file(const std::filesystem::path& given, std::string_view text) {
  const auto path = followed(given);
  std::error_code unknown;
  const auto status = std::filesystem::symlink_status(path, unknown);
  if (std::filesystem::is_directory(status))
    return fail(ErrorKind::usage, "{} is a folder: expected a file", given.string());
  const bool is_link = std::filesystem::is_symlink(status) && !is_open_pipe(path);
  const bool is_replaced = std::filesystem::is_regular_file(status) || is_link;
  if (std::filesystem::exists(status) && !is_replaced) return write_through(path, text);
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
