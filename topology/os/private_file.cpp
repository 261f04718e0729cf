#include "topology/os/private_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "topology/base/outside_text.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::os {
namespace {

Result<void> check_is_private(int file, const std::string& where) {
  struct stat about {};
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode))
    return fail(ErrorKind::invalid_input, "{} is no ordinary file", where);
  if (about.st_uid != geteuid() && about.st_uid != 0)
    return fail(ErrorKind::permission, "{} belongs to another user, who may change it: chown {} {}", where,
                geteuid(), where);
  const mode_t loose = about.st_uid == 0 ? S_IWGRP | S_IXGRP | S_IRWXO : S_IRWXG | S_IRWXO;
  if ((about.st_mode & loose) != 0)
    return fail(ErrorKind::permission, "{} holds a secret and others may use it (mode {:04o}): chmod 600 {}",
                where, about.st_mode & 07777, where);
  return {};
}

Result<void> write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const auto wrote = write(file, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return fail(ErrorKind::absent, "{}", std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

}  // namespace

Result<std::string> read_private_file(const std::filesystem::path& path, std::string_view what,
                                      std::size_t most) {
  const auto where = outside_text(path.string());
  // Of a pipe that nobody writes the opening would wait.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file)
    return fail(errno == EACCES ? ErrorKind::permission : ErrorKind::not_found, "{} {} cannot be opened: {}",
                what, where, std::strerror(errno));
  WEFT_TRY_VOID(check_is_private(file.get(), where));
  std::string text(most + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const auto got = read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ErrorKind::invalid_input, "{} cannot be read: {}", where, std::strerror(errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > most)
    return fail(ErrorKind::invalid_input, "{} has more than {} bytes: too long for {}", where, most, what);
  text.resize(size);
  return text;
}

std::string without_line_end(std::string text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

Result<void> write_whole_file(const std::filesystem::path& path, std::string_view text, unsigned mode,
                              Existing existing) {
  const auto where = outside_text(path.string());
  auto beside = path;
  beside += fmt::format(".new-{}", getpid());
  const auto failed = [&](int code) {
    unlink(beside.c_str());
    return fail(code == EEXIST                    ? ErrorKind::conflict
                : code == EACCES || code == EPERM ? ErrorKind::permission
                                                  : ErrorKind::absent,
                "{}: {}", where, std::strerror(code));
  };
  // Another user may write in that directory: what he put there is not written through.
  unlink(beside.c_str());
  const FileDescriptor file(open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file) return failed(errno);
  if (fchmod(file.get(), mode) != 0) return failed(errno);
  if (const auto written = write_all(file.get(), text); !written) {
    unlink(beside.c_str());
    return pass_on(written, where);
  }
  if (fsync(file.get()) != 0) return failed(errno);
  if (existing == Existing::replaced)
    return rename(beside.c_str(), path.c_str()) == 0 ? Result<void>() : failed(errno);
  if (link(beside.c_str(), path.c_str()) != 0) return failed(errno);
  unlink(beside.c_str());
  return {};
}

}  // namespace weft::os
