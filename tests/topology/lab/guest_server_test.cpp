// The server of commands that runs in guests, here on loopback.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "tests/support/test_lab.hpp"
#include "topology/base/check.hpp"
#include "topology/lab/guests/guest_commands.hpp"

namespace weft::lab {
namespace {

using std::chrono::milliseconds;

const IpAddress kLoopback(IpAddress::V4{127, 0, 0, 1});

/// A server in a process of its own, on a free port, ended with the object.
class Server {
 public:
  Server() {
    const auto listening = listen_for_guest_commands(0);
    WEFT_CHECK(listening.has_value());
    sockaddr_in at{};
    socklen_t size = sizeof at;
    WEFT_CHECK(getsockname(listening->get(), reinterpret_cast<sockaddr*>(&at), &size) == 0);
    port_ = ntohs(at.sin_port);
    pid_ = fork();
    WEFT_CHECK(pid_ >= 0);
    if (pid_ == 0) serve_guest_commands(*listening);
  }
  ~Server() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  Result<int> run(std::vector<std::string> argv, std::vector<std::string> env = {}) const {
    return run_in_guest(kLoopback, port_, {std::move(argv), std::move(env), false});
  }
  std::uint16_t port() const { return port_; }

 private:
  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
};

TEST(GuestServer, RunsProgramsAndGivesTheirExitStatus) {
  const Server server;
  EXPECT_EQ(server.run({"sh", "-c", "exit 7"}).value(), 7);
  EXPECT_EQ(server.run({"sh", "-c", "test \"$GREETING\" = 'good day'"}, {"GREETING=good day"}).value(), 0);
  EXPECT_EQ(server.run({"sh", "-c", "kill -9 $$"}).value(), 137);
  EXPECT_EQ(server.run({"/no/such/program"}).value(), 127);
}

TEST(GuestServer, EndsAProgramWhoseCallerHasGone) {
  const Server server;
  const TestDirectory scratch;
  const auto mark = scratch.path() / "alive";
  const pid_t caller = fork();
  if (caller == 0) {
    (void)server.run({"sh", "-c", "while true; do touch " + mark.string() + "; sleep 0.05; done"});
    _exit(0);
  }
  for (int i = 0; i < 400 && !std::filesystem::exists(mark); ++i)
    std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(std::filesystem::exists(mark));
  kill(caller, SIGKILL);
  waitpid(caller, nullptr, 0);
  bool gone = false;
  for (int i = 0; i < 40 && !gone; ++i) {
    std::filesystem::remove(mark);
    std::this_thread::sleep_for(milliseconds(250));
    gone = !std::filesystem::exists(mark);
  }
  EXPECT_TRUE(gone) << "it still runs";
}

TEST(GuestServer, SaysThatNobodyListens) {
  const auto ran = run_in_guest(kLoopback, 1, {{"true"}, {}, false});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind, ErrorKind::absent);
}

}  // namespace
}  // namespace weft::lab
