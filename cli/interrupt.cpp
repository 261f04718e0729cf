#include "cli/interrupt.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "cli/exit_status.hpp"
#include "topology/base/check.hpp"

namespace weft::cli {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
std::atomic<int> wake_fd{-1};  // a signal handler reaches nothing else

void wake(int) {
  const char byte = 1;
  // The first signal matters; a full pipe means it was told already.
  [[maybe_unused]] const auto written = write(wake_fd.load(), &byte, 1);
}

void set_handlers(void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt(Then then) {
  WEFT_CHECK(pipe2(pipe_, O_CLOEXEC) == 0);
  WEFT_CHECK(fcntl(pipe_[1], F_SETFL, O_NONBLOCK) == 0);
  wake_fd = pipe_[1];
  set_handlers(wake, SA_RESTART);
  watcher_ = std::jthread([this, then] {
    char byte = 0;
    if (read(pipe_[0], &byte, 1) != 1 || byte != 1) return;
    if (then == Then::exit) {
      print_stderr("{}", kInterruptedMessage);
      _exit(kExitInterrupted);
    }
    source_.request_stop();
  });
}

void end_at_next_signal() { set_handlers(SIG_DFL, 0); }

Interrupt::~Interrupt() {
  set_handlers(SIG_DFL, 0);
  const char byte = 0;
  [[maybe_unused]] const auto written = write(pipe_[1], &byte, 1);
  watcher_.join();
  wake_fd = -1;
  close(pipe_[0]);
  close(pipe_[1]);
}

}  // namespace weft::cli
