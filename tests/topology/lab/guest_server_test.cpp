// The server of commands that runs in guests, here on loopback.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "tests/support/test_lab.hpp"
#include "topology/lab/guests/guest_commands.hpp"

namespace weft::lab {
namespace {

using std::chrono::milliseconds;

const IpAddress kLoopback(IpAddress::V4{127, 0, 0, 1});

/// A server in a process of its own, ended with the object.
class Server {
 public:
  Server() {
    for (int attempt = 0; attempt < 5 && !up(); ++attempt) start();
  }
  ~Server() { stop(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  bool up() const { return pid_ > 0; }
  Result<int> run(std::vector<std::string> argv, std::vector<std::string> env = {}) const {
    return run_in_guest(kLoopback, port_, {std::move(argv), std::move(env), false});
  }
  std::uint16_t port() const { return port_; }

 private:
  void start() {
    port_ = static_cast<std::uint16_t>(20'000 + (getpid() * 7 + ++tries_ * 911) % 20'000);
    pid_ = fork();
    if (pid_ == 0) {
      (void)serve_guest_commands(port_);
      _exit(1);
    }
    for (int i = 0; i < 200; ++i) {
      if (waitpid(pid_, nullptr, WNOHANG) != 0) break;  // the port is another's
      if (answers_commands(kLoopback, port_)) return;
      std::this_thread::sleep_for(milliseconds(10));
    }
    stop();
  }
  void stop() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
  int tries_ = 0;
};

TEST(GuestServer, RunsProgramsAndGivesTheirExitStatus) {
  const Server server;
  ASSERT_TRUE(server.up());
  EXPECT_EQ(server.run({"sh", "-c", "exit 7"}).value(), 7);
  EXPECT_EQ(server.run({"sh", "-c", "test \"$GREETING\" = 'good day'"}, {"GREETING=good day"}).value(), 0);
  EXPECT_EQ(server.run({"sh", "-c", "kill -9 $$"}).value(), 137);
  EXPECT_EQ(server.run({"/no/such/program"}).value(), 127);
}

TEST(GuestServer, EndsAProgramWhoseCallerHasGone) {
  const Server server;
  ASSERT_TRUE(server.up());
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
