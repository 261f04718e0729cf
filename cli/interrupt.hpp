// Ctrl-C, SIGTERM and SIGHUP as a stop token. One at a time in a process; starts a thread, so make it after a
// lab was opened.
#pragma once

#include <stop_token>
#include <thread>

namespace weft::cli {

class Interrupt {
 public:
  enum class Then : std::uint8_t { wind_up, exit };
  /// `exit`: at once, status 130, for what leaves nothing behind.
  explicit Interrupt(Then then = Then::wind_up);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return source_.get_token(); }
  bool happened() const { return source_.stop_requested(); }

 private:
  std::stop_source source_;
  int pipe_[2];
  std::jthread watcher_;
};

/// From now on a signal ends the program at once: nothing is left to wind up.
void end_at_next_signal();

}  // namespace weft::cli
