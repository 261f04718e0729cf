#include "probes/run/ask_hosts.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <list>

#include "topology/os/clocks.hpp"

namespace weft::run {
namespace {

constexpr std::size_t kLastWords = 4096;  // of stderr
constexpr Nanoseconds kTick = std::chrono::milliseconds(100);

struct Pipe {
  os::FileDescriptor read;
  os::FileDescriptor write;
};

Result<Pipe> open_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(ErrorKind::internal, "pipe: {}", std::strerror(errno));
  Pipe pipe{os::FileDescriptor(ends[0]), os::FileDescriptor(ends[1])};
  fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

/// All that is there now; false at the end.
bool read_some(const os::FileDescriptor& from, std::string& into, std::size_t most) {
  std::array<char, 16384> block{};
  while (into.size() <= most) {
    const auto got = read(from.get(), block.data(), block.size());
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    into.append(block.data(), static_cast<std::size_t>(got));
  }
  return true;
}

class Asking {
 public:
  Asking(std::size_t hosts, const AskHost& ask, const AskOptions& options)
      : ask_(ask), options_(options), gathering_(hosts, options.limits), answers_(hosts) {}

  std::vector<HostAnswer> run(const std::function<void(std::size_t)>& tick, const std::stop_token& stop) {
    while (!gathering_.done() && !stop.stop_requested()) {
      while (const auto host = gathering_.next(os::steady_now())) start(*host);
      wait();
      for (const std::size_t host : gathering_.overdue(os::steady_now())) give_up(host);
      tick(gathering_.done_count());
    }
    for (Running& one : running_) one.process.send_signal_to_group(SIGKILL);
    return std::move(answers_);
  }

 private:
  struct Running {
    std::size_t host;
    os::ChildProcess process;
    os::FileDescriptor output;
    os::FileDescriptor errors;
    bool output_open = true;
    bool errors_open = true;
  };

  void start(std::size_t host) {
    HostAnswer& answer = answers_[host];
    answer.asked = answer.answered = os::wall_now();
    auto output = open_pipe();
    auto errors = open_pipe();
    if (!output || !errors) return refuse(host, (output ? errors : output).error());
    auto process = ask_(host, {.argv = {},
                               .output = os::ToDescriptor{output->write.get()},
                               .errors = os::ToDescriptor{errors->write.get()},
                               .own_session = true});
    if (!process) return refuse(host, process.error());
    running_.push_back({host, std::move(*process), std::move(output->read), std::move(errors->read)});
  }

  void refuse(std::size_t host, const Error& error) {
    answers_[host].not_started = error;
    gathering_.ended(host);
  }

  /// Until something is said, somebody ends, or it is time to look.
  void wait() {
    std::vector<pollfd> events;
    for (const Running& one : running_) {
      events.push_back({one.process.pid_fd(), POLLIN, 0});
      events.push_back({one.output_open ? one.output.get() : -1, POLLIN, 0});
      events.push_back({one.errors_open ? one.errors.get() : -1, POLLIN, 0});
    }
    const auto left =
        std::clamp(gathering_.wakes_at(os::steady_now()) - os::steady_now(), Nanoseconds(0), kTick);
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (poll(events.data(), events.size(), static_cast<int>(ms)) <= 0) return;
    std::size_t at = 0;
    for (auto one = running_.begin(); one != running_.end(); at += 3) {
      const bool ended = events[at].revents != 0;
      if (ended || events[at + 1].revents != 0 || events[at + 2].revents != 0) take(*one);
      const bool too_long = answers_[one->host].too_long;
      if (too_long) one->process.send_signal_to_group(SIGKILL);
      if (ended || too_long) {
        finish(*one);
        one = running_.erase(one);
      } else {
        ++one;
      }
    }
  }

  void take(Running& one) {
    HostAnswer& answer = answers_[one.host];
    if (one.output_open) one.output_open = read_some(one.output, answer.output, options_.longest);
    if (one.errors_open) one.errors_open = read_some(one.errors, answer.errors, 16 * kLastWords);
    answer.too_long = answer.output.size() > options_.longest;
    if (answer.errors.size() > kLastWords) answer.errors.erase(0, answer.errors.size() - kLastWords);
  }

  void finish(Running& one) {
    HostAnswer& answer = answers_[one.host];
    answer.answered = os::wall_now();
    if (const auto end = one.process.wait_for(std::chrono::seconds(1)); end && *end)
      answer.exit_code = (*end)->code;
    gathering_.ended(one.host);
  }

  void give_up(std::size_t host) {
    const auto one = std::ranges::find(running_, host, &Running::host);
    if (one == running_.end()) return;
    answers_[host].in_time = false;
    answers_[host].answered = os::wall_now();
    one->process.send_signal_to_group(SIGKILL);
    running_.erase(one);
  }

  const AskHost& ask_;
  const AskOptions& options_;
  Gathering gathering_;
  std::vector<HostAnswer> answers_;
  std::list<Running> running_;
};

}  // namespace

std::vector<HostAnswer> ask_hosts(std::size_t hosts, const AskHost& ask, const AskOptions& options,
                                  const std::function<void(std::size_t)>& tick, std::stop_token stop) {
  return Asking(hosts, ask, options).run(tick, stop);
}

const Error* launcher_absent(const std::vector<HostAnswer>& answers) {
  for (const HostAnswer& answer : answers)
    if (!answer.not_started || answer.not_started->kind == ErrorKind::internal) return nullptr;
  return answers.empty() ? nullptr : &*answers.front().not_started;
}

}  // namespace weft::run
