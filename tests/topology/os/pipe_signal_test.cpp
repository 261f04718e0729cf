#include "topology/os/pipe_signal.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace weft::os {
namespace {

bool is_pending() {
  sigset_t pending{};
  sigpending(&pending);
  return sigismember(&pending, SIGPIPE) == 1;
}

bool is_blocked() {
  sigset_t mask{};
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, SIGPIPE) == 1;
}

/// By its default action the signal would end this very program.
TEST(NoPipeSignal, MakesAWriteToAClosedConnectionAnErrorAndLeavesNoSignalBehind) {
  const auto before = signal(SIGPIPE, SIG_DFL);
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  close(ends[1]);
  {
    const NoPipeSignal none;
    EXPECT_EQ(write(ends[0], "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
    EXPECT_TRUE(is_pending());
  }
  EXPECT_FALSE(is_pending());
  EXPECT_FALSE(is_blocked());
  close(ends[0]);
  signal(SIGPIPE, before);
}

}  // namespace
}  // namespace weft::os
