#include "topology/os/run_program.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "topology/os/child_process.hpp"
#include "topology/os/orphans.hpp"

namespace weft::os {
namespace {

constexpr std::size_t kWordsShown = 400;  // characters of a failed program's stderr: two or three lines

constexpr std::size_t kCommandShown = 160;  // of a program's words: a list of hosts says no more by its end

/// What is in it now: who still writes to it is not waited for.
std::string read_all(const FileDescriptor& file) {
  struct stat told {};
  if (fstat(file.get(), &told) != 0) return {};
  std::string text(static_cast<std::size_t>(told.st_size), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = pread(file.get(), text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

/// It is not waited for yet, so that its number, which is its group's, stays its own.
bool has_ended(const ChildProcess& child) {
  siginfo_t told{};
  const auto number = static_cast<id_t>(child.pid());
  return waitid(P_PID, number, &told, WEXITED | WNOHANG | WNOWAIT) == 0 && told.si_pid == child.pid();
}

std::string shown(std::string words) {
  if (words.size() > kWordsShown) words = words.substr(0, kWordsShown) + " ...";
  while (!words.empty() && words.back() == '\n') words.pop_back();
  std::ranges::replace(words, '\n', ';');
  return words;
}

std::string command_line(const std::vector<std::string>& argv) {
  auto words = fmt::format("{}", fmt::join(argv, " "));
  if (words.size() <= kCommandShown) return words;
  auto end = kCommandShown;
  while (end > 0 && (static_cast<unsigned char>(words[end]) & 0xC0U) == 0x80U)
    --end;  // within a character of UTF-8
  return words.substr(0, end) + " ...";
}

/// A program with its output in memory.
class Run {
 public:
  static Result<Run> start(const std::vector<std::string>& argv, std::string_view input, bool own_session) {
    FileDescriptor output(memfd_create("weft-output", MFD_CLOEXEC));
    FileDescriptor errors(memfd_create("weft-errors", MFD_CLOEXEC));
    if (!output || !errors) return fail(ErrorKind::internal, "memfd_create: {}", std::strerror(errno));
    WEFT_TRY(auto child, ChildProcess::start({.argv = argv,
                                              .input = std::string(input),
                                              .output = ToDescriptor{output.get()},
                                              .errors = ToDescriptor{errors.get()},
                                              .own_session = own_session}));
    return Run(argv, std::move(child), std::move(output), std::move(errors));
  }

  ChildProcess& child() { return child_; }
  bool wrote_more_than(Bytes most) const {
    return std::ranges::any_of(std::array{output_.get(), errors_.get()}, [&](int file) {
      struct stat told {};
      return fstat(file, &told) == 0 && told.st_size > static_cast<off_t>(most.count());
    });
  }
  /// What it wrote, once it ended or did not.
  Result<std::string> answer(const Result<std::optional<ExitStatus>>& ended, Nanoseconds limit) const {
    if (!ended) return pass_on(ended, command_line(argv_));
    if (!*ended)
      return fail(ErrorKind::timeout, "'{}' did not end within {}", command_line(argv_),
                  weft::to_string(limit));
    if ((*ended)->success()) return read_all(output_);
    const auto said = shown(read_all(errors_));
    return fail(ErrorKind::internal, "'{}' failed ({}){}{}", command_line(argv_), to_string(**ended),
                said.empty() ? " and said nothing" : ": ", said);
  }

 private:
  Run(std::vector<std::string> argv, ChildProcess child, FileDescriptor output, FileDescriptor errors)
      : argv_(std::move(argv)),
        child_(std::move(child)),
        output_(std::move(output)),
        errors_(std::move(errors)) {}

  std::vector<std::string> argv_;
  ChildProcess child_;
  FileDescriptor output_, errors_;
};

/// Holds Ctrl-C and SIGTERM back from this thread while it lives; they are delivered then.
class HeldBack {
 public:
  HeldBack() {
    sigemptyset(&ours_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ours_, signal);
    pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  }
  HeldBack(const HeldBack&) = delete;
  HeldBack& operator=(const HeldBack&) = delete;
  ~HeldBack() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  bool any_came() const {
    sigset_t came;
    return sigpending(&came) == 0 &&
           std::ranges::any_of(std::array{SIGINT, SIGTERM, SIGHUP},
                               [&](int signal) { return sigismember(&came, signal) == 1; });
  }

 private:
  sigset_t ours_{}, before_{};
};

}  // namespace

Result<std::string> run_program(const std::vector<std::string>& argv, std::string_view input,
                                Nanoseconds limit) {
  WEFT_TRY(auto run, Run::start(argv, input, false));
  return run.answer(run.child().wait_for(limit), limit);
}

Result<std::string> run_strange_program(const std::vector<std::string>& argv, std::string_view input,
                                        Nanoseconds limit, Bytes most, Leftovers leftovers,
                                        const std::stop_token& stop) {
  constexpr Nanoseconds kBetweenLooks = std::chrono::milliseconds(5);
  std::optional<Orphans> orphans;
  if (leftovers == Leftovers::all) orphans.emplace();
  WEFT_TRY(auto run, Run::start(argv, input, true));
  // The terminal's Ctrl-C does not reach a session of its own.
  const HeldBack signals;
  Result<std::optional<ExitStatus>> ended;
  const auto until = std::chrono::steady_clock::now() + limit;
  bool is_flood = false, is_over = false;
  while (!is_over && !is_flood && !signals.any_came() && !stop.stop_requested() &&
         std::chrono::steady_clock::now() < until) {
    is_over = has_ended(run.child());
    is_flood = run.wrote_more_than(most);
    if (!is_over && !is_flood) std::this_thread::sleep_for(kBetweenLooks);
  }
  // Also what it started and left behind.
  run.child().send_signal_to_group(SIGKILL);
  const auto how = run.child().wait_for(std::chrono::seconds(1));
  if (orphans) orphans->end();
  if (is_flood)
    return fail(ErrorKind::absent, "'{}' wrote more than {}", command_line(argv), weft::to_string(most));
  if (is_over) ended = how;
  return run.answer(ended, limit);
}

}  // namespace weft::os
