// What a user of a terminal sees of a run: the answer, and nothing of the progress that led to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "cli/progress.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/terminal.hpp"
#include "topology/model/fabric.hpp"

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
  EXPECT_THAT(screen.lines.front(), StartsWith("ok fabric a: healthy"));
  EXPECT_THAT(screen.lines, Each(AllOf(Not(HasSubstr("gathering agents:")), Not(HasSubstr("diagnosing:")))));
}

TEST(Terminal, AnErrorOfARunStandsOnALineOfItsOwn) {
  const ScratchFile fabric(kClos);
  const auto screen =
      call_on_terminal(simulate_command, {fabric.path(), "--load", "none", "--save", "/dev/full"}, 80);
  EXPECT_EQ(screen.status, 69);
  EXPECT_THAT(screen.lines, testing::Contains(StartsWith("weft: /dev/full cannot be written")));
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

TEST(Terminal, NoLineIsWiderThanTheTerminal) {
  const ScratchFile fabric(kClos);
  for (const unsigned short columns : std::array<unsigned short, 3>{40, 80, 200}) {
    const auto screen =
        call_on_terminal(simulate_command, {fabric.path(), "--fault", "leaf1--spine2:loss=2%"}, columns);
    for (const std::string& line : screen.lines) EXPECT_LE(line.size(), columns) << line;
  }
}

TEST(Terminal, TablesOfOtherCommandsFitItTooAndTakeWhatAWiderOneHas) {
  const ScratchFile fabric(kClos);
  const Arguments balance{"--fabric", fabric.path(), "--collective", "all-reduce", "--hosts", "4"};
  const Arguments trace{"host1", "host4", "--fabric", fabric.path(), "--simulate"};
  for (const unsigned short columns : std::array<unsigned short, 3>{40, 80, 200})
    for (const auto& screen : {call_on_terminal(balance_command, balance, columns),
                               call_on_terminal(trace_command, trace, columns)}) {
      EXPECT_EQ(screen.status, 0);
      for (const std::string& line : screen.lines) EXPECT_LE(line.size(), columns) << line;
    }
  EXPECT_GT(call_on_terminal(balance_command, balance, 40).lines.size(),
            call_on_terminal(balance_command, balance, 200).lines.size());
}

TEST(Output, ManyRowsAreALineEachInTheSameColumns) {
  const ScratchFile fabric(kClos);
  const Arguments fault{fabric.path(), "--fault", "leaf1--spine1:down", "-o"};
  const auto with = [](Arguments words, const char* format) {
    words.emplace_back(format);
    return words;
  };
  const auto csv = call(simulate_command, with(fault, "csv"));
  EXPECT_EQ(csv.status, 2);
  EXPECT_THAT(csv.out, StartsWith("fabric,kind,what,from,verdict,cause,"));
  EXPECT_THAT(csv.out, HasSubstr("\na,link,leaf1--spine1,,failed,down,"));
  EXPECT_THAT(call(simulate_command, with(fault, "jsonl")).out,
              StartsWith("{\"fabric\":\"a\",\"kind\":\"link\""));
  EXPECT_EQ(call(simulate_command, with(fault, "xml")).status, 64);
  const Arguments trace{"host1", "host4", "--fabric", fabric.path(), "--simulate", "--labels", "4", "-o"};
  const auto paths = call(trace_command, with(trace, "csv"));
  EXPECT_THAT(paths.out, StartsWith("src,dst,label,reached,alternatives,path\nhost1,host4,"));
  EXPECT_EQ(std::ranges::count(paths.out, '\n'), 5);
  const Arguments balance{"--fabric", fabric.path(), "--collective", "ring", "--hosts", "4", "-o"};
  EXPECT_THAT(call(balance_command, with(balance, "csv")).out,
              StartsWith("phase,src,dst,turn,qp,bytes,label,path\nring,"));
  EXPECT_THAT(call(balance_command, with(balance, "jsonl")).out,
              StartsWith("{\"phase\":\"ring\",\"src\":\"host1\""));
}

TEST(Terminal, ColoursGoByTheTerminalByNoColorAndByTheOption) {
  const ScratchFile fabric(kClos);
  const Arguments words{fabric.path(), "--load", "none", "--progress=none"};
  const auto with = [&](const char* color) {
    Arguments more = words;
    more.emplace_back(color);
    return more;
  };
  EXPECT_THAT(call_on_terminal(simulate_command, words, 80).bytes, HasSubstr("\x1b[32mhealthy"));
  EXPECT_THAT(call_on_terminal(simulate_command, words, 80, "dumb").bytes, Not(HasSubstr("\x1b")));
  EXPECT_THAT(call(simulate_command, words).out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(call(simulate_command, with("--color=always")).out, HasSubstr("\x1b[32mhealthy"));
  setenv("NO_COLOR", "1", 1);
  const auto refused = call_on_terminal(simulate_command, words, 80);
  const auto asked = call_on_terminal(simulate_command, with("--color=always"), 80);
  unsetenv("NO_COLOR");
  EXPECT_THAT(refused.bytes, Not(HasSubstr("\x1b")));
  EXPECT_THAT(refused.lines.front(), StartsWith("ok fabric a: healthy")) << "the sign stays";
  EXPECT_THAT(asked.bytes, HasSubstr("\x1b[32mhealthy"));
  EXPECT_EQ(call(simulate_command, with("--color=blue")).status, 64);
}

TEST(Terminal, QuietIsOneLineWithTheStatusOfTheVerdict) {
  const ScratchFile fabric(kClos);
  const auto outcome = call(simulate_command, {fabric.path(), "--quiet", "--fault", "leaf1--spine1:loss=1%"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, StartsWith("WEFT WARNING - fabric a: degraded; "));
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 1);
  EXPECT_EQ(call(simulate_command, {fabric.path(), "--quiet", "-o", "json"}).status, 64);
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

TEST(Progress, IsOneBarForTheWholeRun) {
  using namespace std::chrono_literals;
  WholeRun whole;
  const session::Progress loading{"loading", 4, 16, session::RunPart{0.4, 0.8}, 1000};
  EXPECT_EQ(whole.text(loading, 10s, 80, true),
            "[##########----------] 50% loading: 4 of 16, 10 s, about 10 s left, 100 probes/s");
  EXPECT_EQ(whole.text(loading, 10s, 50, true), "[##########----------] 50% loading: 4 of 16, 10 s");
  EXPECT_EQ(whole.text(loading, 10s, 80, false),
            "loading: 4 of 16, 50% of the run, 10 s, about 10 s left, 100 probes/s");
  EXPECT_EQ(whole.text({"loading", 4, 16}, 10s, 80, true), "") << "a run that does not tell";
}

TEST(Progress, OfTheWholeNeverGoesBack) {
  using namespace std::chrono_literals;
  WholeRun whole;
  (void)whole.text({"loading", 4, 16, session::RunPart{0.4, 0.8}}, 10s, 80, true);
  EXPECT_THAT(whole.text({"probing", 0, 16, session::RunPart{0.1, 0.2}}, 11s, 80, true), HasSubstr("] 50% "));
}

}  // namespace
}  // namespace weft::cli
