// What a user of a terminal sees of a run: the answer, and nothing of the progress that led to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/progress.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/terminal.hpp"

namespace weft::cli {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kClos = "fabric: a\nkind: roce\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2}\n";
constexpr const char* kProgress = "gathering agents: 0 of 4";

TEST(Terminal, TheProgressLineIsGoneBeforeTheAnswerAndWasThere) {
  const ScratchFile fabric(kClos);
  const auto screen = call_on_terminal(simulate_command, {fabric.path(), "--load", "none"}, 80);
  EXPECT_EQ(screen.status, 0);
  EXPECT_THAT(screen.bytes, HasSubstr(kProgress));
  EXPECT_THAT(screen.lines.front(), StartsWith("fabric a: healthy"));
  EXPECT_THAT(screen.lines, Each(AllOf(Not(HasSubstr("gathering agents:")), Not(HasSubstr("diagnosing:")))));
}

TEST(Terminal, AnErrorOfARunStandsOnALineOfItsOwn) {
  const ScratchFile fabric(kClos);
  const auto screen =
      call_on_terminal(simulate_command, {fabric.path(), "--load", "none", "--save", "/dev/full"}, 80);
  EXPECT_EQ(screen.status, 69);
  EXPECT_THAT(screen.lines, testing::Contains(StartsWith("weft: cannot write /dev/full")));
}

TEST(Terminal, OneThatCannotEraseAndAPipeGetNoProgressLine) {
  const ScratchFile fabric(kClos);
  for (const char* term : {"dumb", ""}) {
    const auto screen = call_on_terminal(simulate_command, {fabric.path(), "--load", "none"}, 80, term);
    EXPECT_THAT(screen.bytes, AllOf(Not(HasSubstr(kProgress)), Not(HasSubstr("\x1b")))) << term;
  }
  EXPECT_EQ(call(simulate_command, {fabric.path(), "--load", "none"}).err, "");
}

TEST(Terminal, PlainProgressIsLinesForALog) {
  const ScratchFile fabric(kClos);
  const auto outcome = call(simulate_command, {fabric.path(), "--load", "none", "--progress=plain"});
  EXPECT_THAT(outcome.err, AllOf(StartsWith(kProgress), HasSubstr("\ndiagnosing: "), Not(HasSubstr("\r"))));
  EXPECT_EQ(call(simulate_command, {fabric.path(), "--progress=often"}).status, 64);
}

TEST(Progress, SaysShareAndTimeLeftOfThePart) {
  using namespace std::chrono_literals;
  EXPECT_EQ(progress_text({"loading", 4, 16}, 20s, 10s, 80), "loading: 4 of 16, 25%, 20 s, about 30 s left");
  EXPECT_EQ(progress_text({"loading", 0, 16}, 20s, 10s, 80), "loading: 0 of 16, 0%, 20 s");
  EXPECT_EQ(progress_text({"waiting", 0, 0}, 20s, 10s, 80), "waiting: 0 of 0, 20 s");
}

TEST(Progress, NeverTakesMoreThanALine) {
  using namespace std::chrono_literals;
  EXPECT_EQ(progress_text({"loading", 4, 16}, 20s, 10s, 30), "loading: 4 of 16, 25%, 20 s");
  EXPECT_EQ(progress_text({"loading", 4, 16}, 20s, 10s, 10), "loading: 4");
}

}  // namespace
}  // namespace weft::cli
