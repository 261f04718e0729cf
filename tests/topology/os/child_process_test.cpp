#include "topology/os/child_process.hpp"
#include "tests/support/text_of.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "topology/os/processes.hpp"
#include "topology/os/run_program.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::os {
namespace {

using std::chrono::seconds;

Result<ChildProcess> shell(const std::string& script) {
  return ChildProcess::start({.argv = {"sh", "-c", script}});
}

TEST(ChildProcess, ReportsHowItEnded) {
  auto good = shell("exit 0");
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_TRUE(good->wait()->success());
  auto bad = shell("exit 7");
  EXPECT_EQ(bad->wait()->code, 7);
  auto killed = shell("kill -TERM $$");
  const auto ended = killed->wait().value();
  EXPECT_EQ(ended.signal, SIGTERM);
  EXPECT_EQ(ended.shell_status(), 128 + SIGTERM);
  EXPECT_EQ(killed->wait()->signal, SIGTERM) << "asked again, the same answer";
}

TEST(ChildProcess, NamesAProgramThatIsNotThere) {
  const auto child = ChildProcess::start({.argv = {"no-such-program-at-all"}});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().kind, ErrorKind::absent);
  EXPECT_NE(child.error().message.find("no-such-program-at-all"), std::string::npos);
}

TEST(ChildProcess, TellsAFileThatMayNotRun) {
  const auto child = ChildProcess::start({.argv = {"/etc/passwd"}});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().kind, ErrorKind::permission);
}

TEST(ChildProcess, WaitsNoLongerThanAsked) {
  auto child = ChildProcess::start({.argv = {"sleep", "600"}});
  ASSERT_TRUE(child);
  const auto ended = child->wait_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(ended);
  EXPECT_FALSE(*ended);
  EXPECT_TRUE(child->running());
  EXPECT_EQ(child->stop(seconds(5)).signal, SIGTERM);
  EXPECT_FALSE(child->running());
}

TEST(ChildProcess, IsKilledWhenItDoesNotHeedTheRequestToEnd) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  auto child =
      ChildProcess::start({.argv = {"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"},
                           .output = ToDescriptor{writing.get()}});
  ASSERT_TRUE(child);
  char byte = 0;
  ASSERT_EQ(read(reading.get(), &byte, 1), 1) << "its trap is set";
  EXPECT_EQ(child->stop(std::chrono::milliseconds(50)).signal, SIGKILL);
}

TEST(ChildProcess, EndsWithItsObject) {
  std::optional<ProcessMark> mark;
  {
    auto child = ChildProcess::start({.argv = {"sleep", "600"}});
    ASSERT_TRUE(child);
    mark = mark_of(child->pid());
    ASSERT_TRUE(mark && is_running(*mark));
  }
  EXPECT_FALSE(is_running(*mark));
}

TEST(ChildProcess, WritesWhereItIsTold) {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("weft-child-{}", getpid());
  auto child = ChildProcess::start({.argv = {"sh", "-c", "echo $WORD; echo bad >&2"},
                                    .env = {"WORD=well"},
                                    .output = ToFile{file},
                                    .errors = ToNothing{}});
  ASSERT_TRUE(child && child->wait());
  EXPECT_EQ(text_of(file), "well\n");
  std::filesystem::remove(file);
}

TEST(ChildProcess, PutsItsEnvironmentOverTheCallers) {
  setenv("WEFT_TEST_WORD", "old", 1);
  const auto said = ChildProcess::start({.argv = {"sh", "-c", "test \"$WEFT_TEST_WORD$HOME\" = \"new$HOME\""},
                                         .env = {"WEFT_TEST_WORD=new"}})
                        ->wait();
  EXPECT_TRUE(said->success());
  unsetenv("WEFT_TEST_WORD");
}

TEST(RunProgram, GivesInputAndTakesOutputOfAnySize) {
  const std::string much(300'000, 'x');
  const auto back = run_program({"cat"}, much, seconds(20));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, much);
  EXPECT_EQ(run_program({"cat"}, "", seconds(20)).value(), "");
}

TEST(RunProgram, FailsWithTheProgramsOwnWords) {
  const auto failed = run_program({"sh", "-c", "echo what went wrong >&2; exit 3"}, "", seconds(20));
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("what went wrong"), std::string::npos) << failed.error().message;
  EXPECT_NE(failed.error().message.find("exit status 3"), std::string::npos) << failed.error().message;
}

TEST(RunProgram, OfALongCommandShowsTheBeginning) {
  const auto failed = run_program({"/bin/false", std::string(5'000, 'h')}, "", std::chrono::seconds(5));
  ASSERT_FALSE(failed);
  EXPECT_LT(failed.error().message.size(), 250u);
  EXPECT_NE(failed.error().message.find("/bin/false hhh"), std::string::npos);
}

TEST(RunProgram, EndsAProgramThatTakesTooLong) {
  const auto late = run_program({"sleep", "600"}, "", std::chrono::milliseconds(20));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::timeout);
}

TEST(Processes, AreTheSameOnlyWithTheSameStartTime) {
  auto child = ChildProcess::start({.argv = {"sleep", "600"}});
  ASSERT_TRUE(child);
  const ProcessMark mark = mark_of(child->pid()).value();
  EXPECT_TRUE(is_running(mark));
  const ProcessMark earlier{.pid = mark.pid, .start = mark.start - 1};
  EXPECT_FALSE(is_running(earlier));
  EXPECT_FALSE(end_process(earlier)) << "another process had that pid";
  EXPECT_TRUE(child->running());
  EXPECT_TRUE(end_process(mark));
}

TEST(Processes, ReadTheStartTimeBehindAnyName) {
  const std::string tail = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21";
  EXPECT_EQ(start_time_of("77 (sh)" + tail), 4242U);
  EXPECT_EQ(start_time_of("77 (a) b) (c d)" + tail), 4242U);
  EXPECT_FALSE(start_time_of("77 (sh) S 1 2"));
  EXPECT_FALSE(start_time_of(""));
}

/// Whether the process is gone, or will be soon.
bool ends(pid_t pid) {
  for (int look = 0; look < 200 && kill(pid, 0) == 0; ++look) usleep(10'000);
  return kill(pid, 0) != 0;
}

/// A program that starts another one and waits; the other's number, once it stands in the file.
std::string starts_another(const std::string& file) {
  return "sleep 300 & echo $! > " + file + ".new; mv " + file + ".new " + file + "; wait";
}
pid_t number_in(const std::string& file) {
  pid_t pid = 0;
  for (int look = 0; look < 500 && !(std::ifstream(file) >> pid); ++look) usleep(10'000);
  return pid;
}

TEST(StrangeProgram, IsKilledWithAllThatItStartedWhenItsTimeIsOver) {
  const auto scratch = ScratchDirectory::make().value();
  const std::string file = scratch.path() / "pid";
  const auto said = run_strange_program({"sh", "-c", starts_another(file)}, "", seconds(1), Bytes(1000));
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().kind, ErrorKind::timeout);
  const pid_t other = number_in(file);
  ASSERT_GT(other, 0);
  EXPECT_TRUE(ends(other));
}

TEST(StrangeProgram, IsKilledWithAllThatItStartedWhenWeAreTold) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const auto scratch = ScratchDirectory::make().value();
    const std::string file = scratch.path() / "pid";
    const pid_t caller = fork();
    if (caller == 0) {
      (void)run_strange_program({"sh", "-c", starts_another(file)}, "", seconds(60), Bytes(1000));
      _exit(0);
    }
    const pid_t other = number_in(file);
    ASSERT_GT(other, 0);
    kill(caller, signal);
    int status = 0;
    waitpid(caller, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << "the signal still counts";
    EXPECT_TRUE(ends(other));
  }
}

TEST(StrangeProgram, LeavesNobodyBehindWhoWritesOn) {
  const auto scratch = ScratchDirectory::make().value();
  const std::string file = scratch.path() / "pid";
  const auto said = run_strange_program({"sh", "-c", "yes & echo $! > " + file + "; echo told >&2; exit 0"},
                                        "", seconds(30), Bytes(1'000'000'000));
  EXPECT_TRUE(said) << said.error().message;
  EXPECT_TRUE(ends(number_in(file)));
}

TEST(StrangeProgram, LeavesNobodyBehindInASessionOfItsOwnWhereThatIsAsked) {
  const auto scratch = ScratchDirectory::make().value();
  for (const char* end : {"exit 0", "exit 13", "sleep 300"}) {
    const std::string file = scratch.path() / fmt::format("pid{}", std::string_view(end).size());
    const auto said =
        run_strange_program({"sh", "-c",
                             "setsid -f sh -c 'echo $$ > " + file + ".new; mv " + file + ".new " + file +
                                 "; sleep 300'; until [ -e " + file + " ]; do sleep 0.01; done; " + end},
                            "", seconds(2), Bytes(1000), Leftovers::all);
    EXPECT_EQ(said.has_value(), end == std::string("exit 0")) << end;
    EXPECT_TRUE(ends(number_in(file))) << end;
  }
}

TEST(StrangeProgram, MayNotWriteWithoutEnd) {
  const auto said = run_strange_program({"yes"}, "", seconds(30), Bytes(100'000));
  ASSERT_FALSE(said);
  EXPECT_NE(said.error().message.find("wrote more than"), std::string::npos) << said.error().message;
  EXPECT_EQ(run_strange_program({"cat"}, "some", seconds(30), Bytes(4)).value(), "some");
}

TEST(Processes, FindAMountByItsWholePath) {
  const std::string text = "22 1 0:4 / /run/a/netns rw - tmpfs none rw\n";
  EXPECT_TRUE(has_mount(text, "/run/a/netns"));
  EXPECT_FALSE(has_mount(text, "/run/a"));
  EXPECT_FALSE(has_mount("", "/run/a"));
}

TEST(Workers, TellTheirParentWhenTheyCannotStart) {
  const auto failed = start_worker(
      "weft-test", [] { return Result<void>(fail(ErrorKind::absent, "no such thing")); }, [] {});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::absent);
  EXPECT_EQ(failed.error().message, "no such thing");
}

TEST(Workers, GoOnUntilTheyAreEnded) {
  const auto worker = start_worker(
      "weft-test", [] { return Result<void>(); },
      [] {
        while (true) pause();
      });
  ASSERT_TRUE(worker) << worker.error().message;
  EXPECT_TRUE(is_running(*worker));
  EXPECT_TRUE(end_process(*worker));
  EXPECT_FALSE(is_running(*worker));
}

}  // namespace
}  // namespace weft::os
