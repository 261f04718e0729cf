#include "topology/os/processes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "topology/os/child_process.hpp"
#include "topology/os/pidfd.hpp"

namespace weft::os {
namespace {

constexpr int kRounds = 5;
constexpr int kStartWaitMs = 10'000;
constexpr int kEndWaitMs = 10'000;  // for a process that was sent SIGKILL

std::filesystem::path proc(pid_t pid) { return std::filesystem::path("/proc") / std::to_string(pid); }

/// The pids of all processes that the caller sees.
std::vector<pid_t> all_pids() {
  std::vector<pid_t> pids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad == std::errc{} && end == name.data() + name.size()) pids.push_back(pid);
  }
  return pids;
}

bool kill_and_wait(const FileDescriptor& process) {
  if (!process || pidfd_send_signal(process.get(), SIGKILL, nullptr, 0) != 0) return false;
  pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
  return poll(&ended, 1, kEndWaitMs) == 1;
}

/// Kills every process but the caller of which `meant` is true.
void end_processes_where(const std::function<bool(pid_t)>& meant) {
  // What one of them starts while it is being killed is found in the next round.
  for (int round = 0; round < kRounds; ++round) {
    bool found = false;
    for (const pid_t pid : all_pids()) {
      if (pid == getpid()) continue;
      const FileDescriptor handle(pidfd_open(pid, 0));
      if (meant(pid)) found |= kill_and_wait(handle);
    }
    if (!found) return;
  }
}

/// Between fork and the work: away from the parent's terminal and files, but for `keep`.
void detach(const char* name, int keep) {
  setsid();
  prctl(PR_SET_NAME, name);
  const int null = open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
  const auto kept = static_cast<unsigned>(keep);
  if (kept > 3) close_range(3, kept - 1, 0);
  close_range(kept + 1, ~0U, 0);
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) signal(signal_number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// What a worker tells its parent: its pid, whether and how it failed, then the message, then the end.
struct Report {
  pid_t pid;
  bool failed;
  ErrorKind kind;
};

[[noreturn]] void be_worker(int pipe, const std::function<Result<void>()>& prepare,
                            const std::function<void()>& work) {
  const Result<void> prepared = prepare();
  const Report report{getpid(), !prepared, prepared ? ErrorKind::internal : prepared.error().kind};
  (void)!write(pipe, &report, sizeof report);
  if (!prepared) (void)!write(pipe, prepared.error().message.data(), prepared.error().message.size());
  close(pipe);
  if (prepared) work();
  _exit(0);
}

/// Reads a worker's report to its end.
std::string read_report(int pipe) {
  std::string text;
  char block[4096];
  pollfd readable{.fd = pipe, .events = POLLIN, .revents = 0};
  while (poll(&readable, 1, kStartWaitMs) == 1) {
    const ssize_t got = read(pipe, block, sizeof block);
    if (got <= 0) return text;
    text.append(block, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

std::optional<std::uint64_t> start_time_of(std::string_view stat) {
  // The second field is a name in parentheses that may hold spaces and parentheses.
  const auto end_of_name = stat.rfind(')');
  if (end_of_name == std::string_view::npos) return std::nullopt;
  std::istringstream fields{std::string(stat.substr(end_of_name + 1))};
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  std::uint64_t start = 0;
  return fields >> start ? std::optional(start) : std::nullopt;
}

std::optional<ProcessMark> mark_of(pid_t pid) {
  std::ifstream file(proc(pid) / "stat");
  std::string text(std::istreambuf_iterator<char>(file), {});
  const auto start = start_time_of(text);
  return start ? std::optional(ProcessMark{pid, *start}) : std::nullopt;
}

bool is_running(const ProcessMark& process) {
  std::ifstream file(proc(process.pid) / "stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos || start_time_of(text) != process.start) return false;
  const char state = end_of_name + 2 < text.size() ? text[end_of_name + 2] : 'X';
  return state != 'Z' && state != 'X';  // a zombie only waits to be reaped
}

bool end_process(const ProcessMark& process) {
  const FileDescriptor handle(pidfd_open(process.pid, 0));
  // The handle first, then the check: what it names cannot change any more.
  if (mark_of(process.pid) != process) return false;
  const bool ended = kill_and_wait(handle);
  waitpid(process.pid, nullptr, WNOHANG);  // where it is a child of ours
  return ended;
}

std::optional<std::uint64_t> namespace_inode(const std::filesystem::path& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0) return std::nullopt;
  return info.st_ino;
}

void end_processes_in_networks(const std::set<std::uint64_t>& inodes) {
  end_processes_where([&](pid_t pid) {
    const auto inode = namespace_inode(proc(pid) / "ns" / "net");
    return inode && inodes.contains(*inode);
  });
}

void end_processes_with_mount(const std::filesystem::path& mount_point) {
  end_processes_where([&](pid_t pid) {
    std::ifstream file(proc(pid) / "mountinfo");
    return has_mount(std::string(std::istreambuf_iterator<char>(file), {}), mount_point);
  });
}

bool has_mount(std::string_view mountinfo, const std::filesystem::path& mount_point) {
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string field;
    for (int i = 0; i < 5; ++i) fields >> field;
    if (field == mount_point) return true;
  }
  return false;
}

Result<ProcessMark> start_worker(const char* name, const std::function<Result<void>()>& prepare,
                                 const std::function<void()>& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(ErrorKind::internal, "pipe: {}", std::strerror(errno));
  const FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  // Forked twice, so that the worker is init's child and nobody here has to reap it.
  const pid_t first = fork();
  if (first < 0) return fail(ErrorKind::internal, "fork: {}", std::strerror(errno));
  if (first == 0) {
    if (fork() != 0) _exit(0);
    detach(name, writing.get());
    be_worker(writing.get(), prepare, work);
  }
  waitpid(first, nullptr, 0);
  writing = FileDescriptor();
  const std::string text = read_report(reading.get());
  Report report{};
  if (text.size() < sizeof report) return fail(ErrorKind::internal, "the process '{}' did not start", name);
  std::memcpy(&report, text.data(), sizeof report);
  if (report.failed) return tl::unexpected(Error{report.kind, text.substr(sizeof report)});
  const auto mark = mark_of(report.pid);
  if (!mark) return fail(ErrorKind::internal, "the process '{}' ended at once", name);
  return *mark;
}

}  // namespace weft::os
