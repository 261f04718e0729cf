#include "tests/support/terminal.hpp"

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

namespace weft {
namespace {

/// Carriage return goes to the start of the line, ESC [ K erases from there to its end; colours are passed
/// over.
std::vector<std::string> seen(const std::string& bytes) {
  std::vector<std::string> lines(1);
  std::size_t column = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '\r') {
      column = 0;
    } else if (bytes[i] == '\n') {
      lines.emplace_back();
      column = 0;
    } else if (bytes.compare(i, 2, "\x1b[") == 0) {
      i = bytes.find_first_of("Km", i);
      if (i == std::string::npos) break;
      if (bytes[i] == 'K') lines.back().resize(column);
    } else {
      lines.back().resize(std::max(lines.back().size(), column + 1), ' ');
      lines.back()[column++] = bytes[i];
    }
  }
  return lines;
}

/// stdout, stderr and TERM as they were, once it ends.
class Redirected {
 public:
  Redirected(int terminal, const char* term) {
    if (const char* before = std::getenv("TERM")) term_ = before;
    setenv("TERM", term, 1);
    std::fflush(nullptr);
    for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
      kept_[static_cast<std::size_t>(descriptor - 1)] = dup(descriptor);
      dup2(terminal, descriptor);
    }
    close(terminal);
  }
  ~Redirected() {
    std::fflush(nullptr);
    for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
      const int kept = kept_[static_cast<std::size_t>(descriptor - 1)];
      dup2(kept, descriptor);
      close(kept);
    }
    if (term_)
      setenv("TERM", term_->c_str(), 1);
    else
      unsetenv("TERM");
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  std::array<int, 2> kept_{};
  std::optional<std::string> term_;
};

}  // namespace

Screen call_on_terminal(int (*command)(const cli::Arguments&), const cli::Arguments& words,
                        unsigned short columns, const char* term) {
  Screen screen;
  int master = -1;
  int terminal = -1;
  const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  if (openpty(&master, &terminal, nullptr, nullptr, &size) != 0) {
    ADD_FAILURE() << "openpty failed";
    return screen;
  }
  std::thread reader([&] {
    std::array<char, 4096> some{};
    // The read fails with EIO once the last descriptor of the terminal is closed.
    for (ssize_t n; (n = read(master, some.data(), some.size())) > 0;)
      screen.bytes.append(some.data(), static_cast<std::size_t>(n));
  });
  {
    const Redirected redirected(terminal, term);
    screen.status = command(words);
  }
  reader.join();
  close(master);
  screen.lines = seen(screen.bytes);
  return screen;
}

}  // namespace weft
