// Writes what the recorder holds into DIR/HOST-BOOT-NAMESPACE-PID.profile.jsonl, ten times a second, by a
// thread that takes no signals. It alone touches files: the job waits for none. A file that has grown to
// kMaxProfileBytes becomes ...profile.old.jsonl, in place of an older one.
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>

#include "balancer/nccl/profile_recorder.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::nccl {

inline constexpr std::size_t kMaxProfileBytes = std::size_t{32} << 20U;

class ProfileFile {
 public:
  /// `recorder` stays the caller's. `header` is put into each communicator's line: JSON members, each with a
  /// comma before it.
  ProfileFile(ProfileRecorder& recorder, std::string directory, std::string header);

  /// Starts the thread, once.
  void start();
  /// Waits until what is recorded by now is in the file, 0.2 s at most.
  void drain();

 private:
  void run();
  void write_all();
  void append_record(const ProfileRecord& record);
  bool append_communicator(std::size_t place);
  void append_waiting(std::uint64_t now);
  void flush();
  void reopen();

  ProfileRecorder& recorder_;
  const std::string directory_;
  const std::string header_;

  std::mutex control_;  // of these; no file is touched with it
  std::condition_variable changed_;
  std::uint64_t asked_ = 0, done_ = 0;
  bool running_ = false;

  // The thread's.
  std::string path_;
  os::FileDescriptor file_;
  std::size_t size_ = 0;  // of the file
  std::string pending_;
  std::array<std::uint32_t, ProfileRecorder::kMaxCommunicators> told_{};  // life of each place in this file
  std::uint64_t last_look_ = 0;
};

/// Nanoseconds of the clock that does not step back.
std::uint64_t profile_clock() noexcept;

/// What may stand between quotes of a JSON text; of outside_text.
std::string json_text(std::string_view text);

}  // namespace weft::nccl
