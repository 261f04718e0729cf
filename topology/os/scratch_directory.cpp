#include "topology/os/scratch_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace weft::os {
namespace {

/// Reads until the end of its input, which nobody writes: then the other end is closed.
constexpr const char* kRemove = R"(read -r nothing; exec /bin/rm -rf -- "$1")";

Result<std::filesystem::path> temporary_directory() {
  std::error_code error;
  auto path = std::filesystem::temp_directory_path(error);
  if (!error) return path;
  const char* asked = std::getenv("TMPDIR");
  return fail(ErrorKind::absent, "no directory for temporary files at {} ({}): make it, or set TMPDIR to one",
              asked ? asked : "/tmp", error.message());
}

}  // namespace

Result<ScratchDirectory> ScratchDirectory::make() {
  WEFT_TRY(const auto place, temporary_directory());
  auto pattern = (place / "weft-XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    return fail(ErrorKind::permission, "no scratch directory {}: {}", pattern, std::strerror(errno));
  ScratchDirectory made(pattern);
  WEFT_TRY_VOID(made.leave_to_remover());
  return made;
}

Result<void> ScratchDirectory::leave_to_remover() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(ErrorKind::internal, "pipe: {}", std::strerror(errno));
  const FileDescriptor reading(ends[0]);
  alive_ = FileDescriptor(ends[1]);
  ChildSpec spec{.argv = {"/bin/sh", "-c", kRemove, "weft-scratch", path_}};
  spec.input_from = reading.get();
  spec.output = ToNothing{};
  spec.errors = ToNothing{};
  spec.dies_with_parent = false;
  spec.own_session = true;  // the terminal's Ctrl-C is not for it
  WEFT_TRY(auto started, ChildProcess::start(spec));
  remover_ = std::move(started);
  return {};
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;  // nothing can be done about it here
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Result<void> check_is_ours(const std::filesystem::path& path) {
  if (geteuid() == 0) return {};
  for (const auto& each : {path.parent_path(), path}) {
    struct stat info {};
    if (lstat(each.c_str(), &info) != 0 || info.st_uid == geteuid() || info.st_uid == 0) continue;
    return fail(ErrorKind::permission,
                "{} belongs to another user: set XDG_RUNTIME_DIR to a directory of your own", each.string());
  }
  return {};
}

}  // namespace weft::os
