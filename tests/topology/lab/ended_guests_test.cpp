// Which guests of a lab run no more: a guest is the process whose command line names its pid file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/test_lab.hpp"
#include "topology/lab/guests/guests.hpp"
#include "topology/os/child_process.hpp"

namespace weft::lab {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A program that was started a moment ago runs before the kernel shows its command line.
void wait_for_command_line(pid_t pid) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  std::string word;
  while (word.empty() && std::chrono::steady_clock::now() < deadline)
    std::ifstream(fmt::format("/proc/{}/cmdline", pid)) >> word;
}

TEST(EndedGuests, AreThoseWhoseProcessHasGoneOrIsAnotherByNow) {
  const TestDirectory directory;
  const auto file = [&](const std::string& guest) { return directory.path() / (guest + ".pid"); };
  std::optional<os::ChildProcess> machine(
      os::ChildProcess::start({.argv = {"tail", "-f", "/dev/null", file("host1")}}).value());
  std::ofstream(file("host1")) << machine->pid() << "\n";
  wait_for_command_line(machine->pid());
  std::ofstream(file("host2")) << getpid() << "\n";
  std::ofstream(file("host3")) << "no number";
  EXPECT_THAT(ended_guests({"host1"}, directory.path()), IsEmpty());
  EXPECT_THAT(ended_guests({"host1", "host2", "host3", "host4"}, directory.path()),
              ElementsAre("host2", "host3", "host4"));
  machine.reset();
  EXPECT_THAT(ended_guests({"host1"}, directory.path()), ElementsAre("host1"));
}

}  // namespace
}  // namespace weft::lab
