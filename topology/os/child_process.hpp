// ChildProcess: a program started without a shell, owned by the object: destroying it kills and reaps the
// child. Waits are bounded. A child that dies_with_parent gets SIGKILL when the *thread* that started it
// ends (PR_SET_PDEATHSIG), so start such a child from a thread that outlives it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "topology/base/result.hpp"
#include "topology/base/units.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::os {

/// Where a child's output goes.
struct Inherit {};
struct ToNothing {};
struct ToFile {
  std::filesystem::path path;  // created or cut to nothing, mode 0600
};
struct ToDescriptor {
  int fd;  // stays the caller's
};
using OutputTo = std::variant<Inherit, ToNothing, ToFile, ToDescriptor>;

struct ChildSpec {
  std::vector<std::string> argv;                 // argv[0] is looked up in PATH unless it has a '/'
  std::vector<std::string> env = {};             // NAME=value, added to the caller's environment
  bool with_stdin = false;                       // the caller's stdin, for programs that a person runs
  std::string input = {};                        // otherwise this is what it reads
  std::optional<int> input_from = std::nullopt;  // or what comes here; stays the caller's
  OutputTo output = Inherit{};                   // stdout
  OutputTo errors = Inherit{};                   // stderr
  bool dies_with_parent = true;
  bool own_session = false;  // a session of its own: the terminal's Ctrl-C does not reach it
  /// The namespace to run in, with its own view of /sys; absent: the calling thread's.
  std::optional<std::filesystem::path> network_namespace = std::nullopt;
  /// With a network namespace: a file that the child finds as /etc/hosts, where it may mount.
  std::filesystem::path hosts_file = {};
};

/// How a child ended.
struct ExitStatus {
  std::optional<int> code = std::nullopt;    // by exit()
  std::optional<int> signal = std::nullopt;  // by a signal
  bool success() const { return code == 0; }
  /// What a shell would report: the code, or 128 + signal.
  int shell_status() const { return code ? *code : 128 + signal.value_or(0); }
};
std::string to_string(const ExitStatus& status);  // "exit status 2", "signal 9"

class ChildProcess {
 public:
  /// Errors: absent (no such program), permission, internal; the message names the program.
  static Result<ChildProcess> start(const ChildSpec& spec);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();  // kill, then reap

  pid_t pid() const { return pid_; }
  /// Becomes readable when the child has ended: for poll().
  int pid_fd() const { return pid_fd_.get(); }
  bool running();
  /// How it ended; absent when it still runs after `limit`. May be called again.
  Result<std::optional<ExitStatus>> wait_for(Nanoseconds limit);
  Result<ExitStatus> wait();  // no limit: for programs that a person runs
  Result<void> send_signal(int signal);
  /// To a child with own_session and what it started in its own process group; nothing once it has ended.
  void send_signal_to_group(int signal);
  /// Gives the child up: it goes on when this object ends.
  void release() && { pid_ = -1; }
  /// SIGTERM, then SIGKILL when it has not ended within `grace`; reaps it.
  ExitStatus stop(Nanoseconds grace);

 private:
  ChildProcess(pid_t pid, FileDescriptor pid_fd) : pid_(pid), pid_fd_(std::move(pid_fd)) {}

  pid_t pid_ = -1;
  FileDescriptor pid_fd_;
  std::optional<ExitStatus> ended_;
};

}  // namespace weft::os
