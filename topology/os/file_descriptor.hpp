// FileDescriptor: owns one and closes it. For adapters; pure code has none.
#pragma once

namespace weft::os {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  /// Takes over `fd`; a negative one, as a failed system call gives it, is none.
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace weft::os
