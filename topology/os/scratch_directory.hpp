// A directory of our own under the system's temporary one, mode 0700, removed with the object; or, when this
// process is killed before, by a shell that waits for that and nothing else.
#pragma once

#include <filesystem>
#include <optional>

#include "topology/os/child_process.hpp"

namespace weft::os {

class ScratchDirectory {
 public:
  /// Errors: absent (no temporary directory, as TMPDIR names it), permission.
  static Result<ScratchDirectory> make();
  ScratchDirectory(ScratchDirectory&& other) noexcept
      : path_(std::exchange(other.path_, {})),
        alive_(std::move(other.alive_)),
        remover_(std::move(other.remover_)) {}
  ScratchDirectory& operator=(ScratchDirectory&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(alive_, other.alive_);
    std::swap(remover_, other.remover_);
    return *this;
  }
  ~ScratchDirectory();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  Result<void> leave_to_remover();

  std::filesystem::path path_;
  FileDescriptor alive_;  // closed when this process ends, however it does
  std::optional<ChildProcess> remover_;
};

/// For a place that other programs of ours find by its name: in /tmp another user may have made `path`, or
/// what it stands in, first, with files of his own. Of a link its maker counts: he chooses where it leads.
/// Root's places and the inside of a user namespace, where only its user gets, need no check. Error:
/// permission.
Result<void> check_is_ours(const std::filesystem::path& path);

}  // namespace weft::os
