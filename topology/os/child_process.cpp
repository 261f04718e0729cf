#include "topology/os/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "topology/os/pidfd.hpp"

namespace weft::os {
namespace {

/// argv or envp as exec wants it; keeps pointing into `words`.
std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

/// The caller's environment with `added` put over it.
std::vector<std::string> environment_with(const std::vector<std::string>& added) {
  std::vector<std::string> all = added;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto name = text.substr(0, text.find('='));
    const bool replaced = std::ranges::any_of(added, [&](const std::string& other) {
      return other.size() > name.size() && other.starts_with(name) && other[name.size()] == '=';
    });
    if (!replaced) all.emplace_back(text);
  }
  return all;
}

Result<FileDescriptor> open_output(const OutputTo& output) {
  if (std::holds_alternative<Inherit>(output)) return FileDescriptor();
  if (const auto* given = std::get_if<ToDescriptor>(&output))
    return FileDescriptor(fcntl(given->fd, F_DUPFD_CLOEXEC, 3));
  const auto* file = std::get_if<ToFile>(&output);
  const std::string path = file ? file->path.string() : "/dev/null";
  FileDescriptor fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd)
    return fail(errno == EACCES ? ErrorKind::permission : ErrorKind::internal, "cannot write {}: {}", path,
                std::strerror(errno));
  return fd;
}

Result<FileDescriptor> input_file(std::string_view text) {
  if (text.empty()) return FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
  FileDescriptor file(memfd_create("weft-input", MFD_CLOEXEC));
  for (std::size_t done = 0; file && done < text.size();) {
    const ssize_t wrote = write(file.get(), text.data() + done, text.size() - done);
    if (wrote < 0) return fail(ErrorKind::internal, "input in memory: {}", std::strerror(errno));
    done += static_cast<std::size_t>(wrote);
  }
  if (!file || lseek(file.get(), 0, SEEK_SET) != 0)
    return fail(ErrorKind::internal, "input in memory: {}", std::strerror(errno));
  return file;
}

/// All that the child needs, made before the fork: between fork and exec it only makes system calls.
struct Launch {
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::vector<char*> argv_pointers;
  std::vector<char*> env_pointers;
  FileDescriptor input;
  FileDescriptor output;
  FileDescriptor errors;
  FileDescriptor network_namespace;
  std::string hosts_file;
  bool dies_with_parent = true;
  bool own_session = false;
  pid_t parent = 0;
  FileDescriptor failed;  // the child writes errno and the step here when it cannot start
};

enum class Step : int { enter_namespace, redirect, run };

[[noreturn]] void give_up(int pipe, Step step) {
  const int report[2] = {errno, static_cast<int>(step)};
  (void)!write(pipe, report, sizeof report);
  _exit(127);
}

void put(const FileDescriptor& from, int to, int pipe) {
  if (from && dup2(from.get(), to) < 0) give_up(pipe, Step::redirect);
}

/// Moves to the namespace, and gives the child the /sys that belongs to it, and names of its hosts, where
/// that is allowed: nobody else sees these mounts.
void enter_namespace(const Launch& launch) {
  if (setns(launch.network_namespace.get(), CLONE_NEWNET) != 0)
    give_up(launch.failed.get(), Step::enter_namespace);
  if (unshare(CLONE_NEWNS) != 0) return;
  if (mount("", "/", nullptr, MS_SLAVE | MS_REC, nullptr) != 0) return;
  (void)mount("weft", "/sys", "sysfs", 0, nullptr);
  if (!launch.hosts_file.empty())
    (void)mount(launch.hosts_file.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr);
}

[[noreturn]] void become(const Launch& launch) {
  if (launch.dies_with_parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launch.parent) _exit(127);
  }
  if (launch.own_session) setsid();
  if (launch.network_namespace) enter_namespace(launch);
  const int pipe = launch.failed.get();
  put(launch.input, STDIN_FILENO, pipe);
  put(launch.output, STDOUT_FILENO, pipe);
  put(launch.errors, STDERR_FILENO, pipe);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  execvpe(launch.argv_pointers[0], launch.argv_pointers.data(), launch.env_pointers.data());
  give_up(pipe, Step::run);
}

Error start_error(const std::string& program, Step step, int error) {
  const std::string_view what = std::strerror(error);
  if (step == Step::run && error == ENOENT)
    return {ErrorKind::absent, fmt::format("cannot run '{}': no such program", program)};
  const ErrorKind kind = error == EACCES || error == EPERM ? ErrorKind::permission : ErrorKind::internal;
  const std::string_view doing = step == Step::enter_namespace ? " in its network namespace"
                                 : step == Step::redirect      ? " with its output redirected"
                                                               : "";
  return {kind, fmt::format("cannot run '{}'{}: {}", program, doing, what)};
}

/// Forks and waits until the child runs its program or says why not.
Result<pid_t> launch_child(Launch& launch) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(ErrorKind::internal, "pipe: {}", std::strerror(errno));
  FileDescriptor reading(ends[0]);
  launch.failed = FileDescriptor(ends[1]);
  launch.parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return fail(ErrorKind::internal, "fork: {}", std::strerror(errno));
  if (pid == 0) become(launch);
  launch.failed = FileDescriptor();
  int report[2];
  ssize_t got = 0;
  do got = read(reading.get(), report, sizeof report);
  while (got < 0 && errno == EINTR);
  if (got != sizeof report) return pid;  // the pipe closed at exec
  waitpid(pid, nullptr, 0);
  return tl::unexpected(start_error(launch.argv[0], static_cast<Step>(report[1]), report[0]));
}

Result<FileDescriptor> open_namespace(const std::optional<std::filesystem::path>& path) {
  if (!path) return FileDescriptor();
  FileDescriptor fd(open(path->c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    return fail(ErrorKind::not_found, "network namespace {}: {}", path->string(), std::strerror(errno));
  return fd;
}

ExitStatus from_siginfo(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return {.code = info.si_status};
  return {.signal = info.si_status};
}

int poll_timeout(Nanoseconds limit) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
  return static_cast<int>(std::clamp<std::int64_t>(ms, 0, INT_MAX));
}

}  // namespace

std::string to_string(const ExitStatus& status) {
  return status.code ? fmt::format("exit status {}", *status.code)
                     : fmt::format("signal {}", status.signal.value_or(0));
}

Result<ChildProcess> ChildProcess::start(const ChildSpec& spec) {
  if (spec.argv.empty() || spec.argv[0].empty()) return fail(ErrorKind::usage, "no program given to run");
  Launch launch{.argv = spec.argv, .env = environment_with(spec.env)};
  launch.argv_pointers = pointers(launch.argv);
  launch.env_pointers = pointers(launch.env);
  launch.dies_with_parent = spec.dies_with_parent;
  launch.own_session = spec.own_session;
  auto output = open_output(spec.output);
  if (!output) return pass_on(output, spec.argv[0]);
  auto errors = open_output(spec.errors);
  if (!errors) return pass_on(errors, spec.argv[0]);
  auto network_namespace = open_namespace(spec.network_namespace);
  if (!network_namespace) return pass_on(network_namespace, spec.argv[0]);
  launch.output = std::move(*output);
  launch.errors = std::move(*errors);
  launch.network_namespace = std::move(*network_namespace);
  launch.hosts_file = spec.hosts_file.string();
  if (!spec.with_stdin) {
    auto input = spec.input_from ? FileDescriptor(fcntl(*spec.input_from, F_DUPFD_CLOEXEC, 3))
                                 : input_file(spec.input);
    if (!input) return pass_on(input, spec.argv[0]);
    launch.input = std::move(*input);
  }
  WEFT_TRY(const auto pid, launch_child(launch));
  ChildProcess child(pid, FileDescriptor(pidfd_open(pid, 0)));
  if (!child.pid_fd_) return fail(ErrorKind::internal, "pidfd_open: {}", std::strerror(errno));
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pid_fd_(std::move(other.pid_fd_)), ended_(other.ended_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(pid_fd_, other.pid_fd_);
  std::swap(ended_, other.ended_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0 && !ended_) stop(Nanoseconds(0));
}

bool ChildProcess::running() {
  const auto ended = wait_for(Nanoseconds(0));
  return ended && !*ended;
}

Result<std::optional<ExitStatus>> ChildProcess::wait_for(Nanoseconds limit) {
  if (ended_) return ended_;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  pollfd ended{.fd = pid_fd_.get(), .events = POLLIN, .revents = 0};
  while (poll(&ended, 1, poll_timeout(deadline - std::chrono::steady_clock::now())) < 0)
    if (errno != EINTR) return fail(ErrorKind::internal, "poll: {}", std::strerror(errno));
  if (ended.revents == 0) return std::optional<ExitStatus>();
  siginfo_t info{};
  if (waitid(P_PIDFD, static_cast<id_t>(pid_fd_.get()), &info, WEXITED) != 0)
    return fail(ErrorKind::internal, "waitid of process {}: {}", pid_, std::strerror(errno));
  ended_ = from_siginfo(info);
  return ended_;
}

Result<ExitStatus> ChildProcess::wait() {
  while (true) {
    WEFT_TRY(const auto ended, wait_for(std::chrono::hours(1)));
    if (ended) return *ended;
  }
}

Result<void> ChildProcess::send_signal(int signal) {
  if (ended_ || pidfd_send_signal(pid_fd_.get(), signal, nullptr, 0) == 0 || errno == ESRCH) return {};
  return fail(ErrorKind::internal, "signal {} to process {}: {}", signal, pid_, std::strerror(errno));
}

void ChildProcess::send_signal_to_group(int signal) {
  // Not waited for yet, so its number is still its own: no other group can have it. ESRCH: none is left.
  if (pid_ > 0 && !ended_) kill(-pid_, signal);
}

ExitStatus ChildProcess::stop(Nanoseconds grace) {
  if (grace > Nanoseconds(0)) {
    (void)send_signal(SIGTERM);
    if (const auto ended = wait_for(grace); ended && *ended) return **ended;
  }
  (void)send_signal(SIGKILL);
  // A process that was sent SIGKILL ends unless the kernel itself hangs.
  const auto ended = wait_for(std::chrono::seconds(10));
  return ended && *ended ? **ended : ExitStatus{.signal = SIGKILL};
}

}  // namespace weft::os
