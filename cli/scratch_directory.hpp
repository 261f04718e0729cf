// A directory of our own under the system's temporary one, mode 0700, removed with the object.
#pragma once

#include <filesystem>

#include "topology/base/result.hpp"

namespace weft {

class ScratchDirectory {
 public:
  static Result<ScratchDirectory> make();
  ScratchDirectory(ScratchDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchDirectory& operator=(ScratchDirectory&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~ScratchDirectory();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace weft
