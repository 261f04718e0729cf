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

TEST(EndedGuests, AreThoseWhoseProcessHasGoneOrIsAnotherByNow) {
  const TestDirectory directory;
  const auto file = [&](const std::string& guest) { return directory.path() / (guest + ".pid"); };
  std::optional<os::ChildProcess> machine(
      os::ChildProcess::start({.argv = {"tail", "-f", "/dev/null", file("host1")}}).value());
  std::ofstream(file("host1")) << machine->pid() << "\n";
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
