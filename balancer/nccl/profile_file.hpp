// Writes what the recorder holds into DIR/PID.profile.jsonl, ten times a second, by a thread that takes no
// signals. A file that has grown to kMaxProfileBytes becomes DIR/PID.profile.old.jsonl, in place of an older
// one.
#pragma once

#include <mutex>
#include <string>

#include "balancer/nccl/profile_recorder.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::nccl {

inline constexpr std::size_t kMaxProfileBytes = std::size_t{32} << 20U;

class ProfileFile {
 public:
  /// `recorder` stays the caller's. `header` is put into each communicator's line: JSON members, each with a
  /// comma before it.
  ProfileFile(ProfileRecorder& recorder, std::string directory, std::string header);

  /// Starts the thread, once in a process.
  void start();
  /// What is recorded now goes into the file.
  void drain();
  /// Around fork: a child begins a file of its own when it starts, and does not write what is its parent's.
  void before_fork() { writing_.lock(); }
  void after_fork() { writing_.unlock(); }
  void in_child();

 private:
  void write_all();
  void append_record(const ProfileRecord& record);
  void append_communicator(std::size_t place);
  void append_waiting(std::uint64_t now);
  void flush();
  void reopen();

  ProfileRecorder& recorder_;
  std::string directory_;
  std::string header_;
  std::mutex writing_;
  os::FileDescriptor file_;
  std::size_t size_ = 0;  // of the file
  std::string pending_;
  std::array<bool, ProfileRecorder::kMaxCommunicators> told_{};
  std::uint64_t last_look_ = 0;
  bool running_ = false;
};

/// Nanoseconds of the clock that does not step back.
std::uint64_t profile_clock() noexcept;

}  // namespace weft::nccl
