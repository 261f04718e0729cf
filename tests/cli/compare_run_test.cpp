// `weft compare run` over benchmarks of the user's: scripts that print a table.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "cli/commands.hpp"
#include "cli/compare_blocks.hpp"
#include "tests/places.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/text_of.hpp"
#include "topology/os/run_program.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Prints a row of OSU's latency near $BASE microseconds, and notes that it ran.
constexpr const char* kBenchmark =
    "echo $BASE >> $DIR/order; n=$(wc -l < $DIR/order); echo '# OSU MPI Latency Test v5.9'; "
    "echo '# Size Latency (us)'; echo \"8 $BASE.$((n * 7 % 10))0\"";

constexpr const char* kRoceFile =
    "fabric: r\nkind: roce\nclos: {leaves: 3, spines: 2, hosts_per_leaf: 2, link: 400G}\n";
constexpr const char* kInfinibandFile =
    "fabric: i\nkind: infiniband\nclos: {leaves: 3, spines: 2, hosts_per_leaf: 2, link: 400G}\n";

class Directory {
 public:
  const std::filesystem::path& path() const { return made_.path(); }
  std::string file(const char* name) const { return text_of(path() / name); }

 private:
  os::ScratchDirectory made_ = os::ScratchDirectory::make().value();
};

Outcome run(const Directory& directory, const char* base_b, Arguments more,
            const char* command = kBenchmark) {
  Arguments words{"run", "--run", command, "--env", "A:BASE=100", "--env", fmt::format("B:BASE={}", base_b)};
  words.insert(words.end(), {"--env", "B:IS_B=1"});  // the same on both sides is refused
  for (const char* side : {"A", "B"}) {
    words.emplace_back("--env");
    words.push_back(fmt::format("{}:DIR={}", side, directory.path().string()));
  }
  words.insert(words.end(), more.begin(), more.end());
  return call(compare_command, words);
}

bool is_running(int pid) {  // whoever takes over an orphan may leave it a zombie
  const auto words = text_of(fmt::format("/proc/{}/stat", pid));
  return !words.empty() && words.find(") Z") == std::string::npos;
}

/// 0: there is no such process.
int parent_of(int pid) {
  const auto words = text_of(fmt::format("/proc/{}/stat", pid));
  const auto state = words.rfind(") ");
  return state == std::string::npos ? 0 : std::stoi(words.substr(state + 4));
}

TEST(CompareRun, BlocksGoAsABBAAndTheVerdictIsOfBlocks) {
  const Directory directory;
  const auto outcome = run(directory, "120", {"--blocks", "3"});
  EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("A better by 20 %"));
  EXPECT_THAT(outcome.out, HasSubstr("3 blocks A, B, B, A"));
  EXPECT_EQ(directory.file("order"), "100\n120\n120\n100\n100\n120\n120\n100\n100\n120\n120\n100\n");
}

TEST(CompareRun, WithoutBlocksItEndsAtTheFirstLookThatDecidesAll) {
  const Directory directory;
  const auto outcome = run(directory, "100", {"-o", "json"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  expect_matches_schema(outcome.out, "comparison");
  const auto tree = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(tree["looks"], 5);
  EXPECT_EQ(tree["cells"][0]["blocks"].size(), 6U);
  EXPECT_THAT(tree["fabrics"]["a"].get<std::string>(), HasSubstr("OSU"));
}

TEST(CompareRun, TheSameCommandGoesOnWithTheRunsThatWereKept) {
  const Directory directory;
  const auto keep = (directory.path() / "kept").string();
  EXPECT_EQ(run(directory, "120", {"--blocks", "3", "--keep", keep}).status, 1);
  std::filesystem::remove(keep + "/block-0003-B1.txt");  // as if it had been interrupted there
  EXPECT_EQ(run(directory, "120", {"--blocks", "4", "--keep", keep}).status, 1);
  EXPECT_EQ(std::ranges::count(directory.file("order"), '\n'), 12 + 8) << "block 3 whole, and block 4";
  const auto other = run(directory, "121", {"--blocks", "3", "--keep", keep});
  EXPECT_EQ(other.status, 64);
  EXPECT_THAT(other.err, HasSubstr("another comparison"));
}

TEST(CompareRun, ABlockThatFailsIsRepeatedThenNamed) {
  const Directory directory;
  const std::string fails_once = fmt::format(
      "test -e $DIR/order && test $(wc -l < $DIR/order) = 5 && echo x >> $DIR/order && exit 7; {}",
      kBenchmark);
  const auto once = run(directory, "120", {"--blocks", "3"}, fails_once.c_str());
  EXPECT_EQ(once.status, 1) << once.err;
  EXPECT_THAT(once.out, HasSubstr("block 2 was repeated"));
  const Directory another;
  const std::string fails_later = fmt::format(
      "test -e $DIR/order && test $(wc -l < $DIR/order) -gt 11 && echo out of memory >&2 && exit 7; {}",
      kBenchmark);
  const auto later = run(another, "120", {"--blocks", "4"}, fails_later.c_str());
  EXPECT_EQ(later.status, 69) << later.out;
  EXPECT_THAT(later.err, HasSubstr("exit status 7: out of memory"));
}

TEST(CompareRun, ABenchmarkThatHangsIsEnded) {
  const Directory directory;
  const auto outcome =
      run(directory, "120", {"--blocks", "3", "--run-limit", "300ms"}, "sleep 60; echo $BASE");
  EXPECT_EQ(outcome.status, 69);
  EXPECT_THAT(outcome.err, HasSubstr("no end within 300"));
}

TEST(CompareRun, ABenchmarkThatHangsInOneBlockIsEndedAndTheBlockRepeated) {
  const Directory directory;
  const auto hangs_once = fmt::format(
      "test ! -e $DIR/hung && test -e $DIR/order && test $(wc -l < $DIR/order) = 5 && touch $DIR/hung && "
      "sleep 60; {}",
      kBenchmark);
  const auto outcome = run(directory, "120", {"--blocks", "3", "--run-limit", "2s"}, hangs_once.c_str());
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("block 2 was repeated"), HasSubstr("no end within 2s"),
                                 HasSubstr("3 blocks A, B, B, A")));
}

TEST(CompareRun, ABenchmarkThatPrintsNoTableIsRefusedAtOnce) {
  const Directory directory;
  const auto outcome = run(directory, "120", {"--blocks", "3"}, "echo hello $BASE");
  EXPECT_GE(outcome.status, 64);
  EXPECT_THAT(outcome.err, HasSubstr("block-0001-A1"));
}

TEST(CompareRun, HostsInTheCommandAreThoseOfTheSide) {
  const ScratchFile a(kRoceFile),
      b("fabric: b\nclos: {leaves: 1, spines: 1, hosts_per_leaf: 2, link: 400G}\n");
  const std::string command = std::string("echo {hosts} >> $DIR/hosts; ") + kBenchmark;
  const Directory of_files;
  const auto outcome = run(of_files, "120", {a.path(), b.path(), "--blocks", "3"}, command.c_str());
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(of_files.file("hosts"), StartsWith("host1,host2,host3,host4,host5,host6\nhost1,host2\n"));
  const Directory of_lists;
  EXPECT_EQ(
      run(of_lists, "120", {"--hosts", "A:gpu[08-10],x", "--hosts", "B:y", "--blocks", "3"}, command.c_str())
          .status,
      1);
  EXPECT_THAT(of_lists.file("hosts"), StartsWith("gpu08,gpu09,gpu10,x\ny\n"));
}

TEST(CompareRun, WritesAReport) {
  const Directory directory;
  const auto page = (directory.path() / "report.html").string();
  EXPECT_EQ(run(directory, "120", {"--blocks", "3", "--html", page}).status, 1);
  EXPECT_THAT(text_of(page), HasSubstr("<!doctype html>"));
  EXPECT_EQ(run(directory, "120", {"--blocks", "3", "--html", directory.path().string()}).status, 64);
}

constexpr const char* kLive = "fabric: live\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1, link: 400G}\n";
constexpr const char* kLiveInfiniband =
    "fabric: ib\nkind: infiniband\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1, link: 400G}\n";

/// What the sides of a live comparison would be sent, which the runs directory keeps, a line each; then what
/// was said. No sweep comes far: no host has an address, and no host is asked in a subnet.
struct Sent {
  std::string a, b, said;
};
Sent live_words(const char* file_a, const char* file_b, const std::string& more) {
  const ScratchFile a(file_a), b(file_b);
  const Directory directory;
  const auto said = os::run_program(
      {"sh", "-c",
       fmt::format("{}/weft compare run --no-config {} {} --blocks 3 --keep {} {} 2>&1; echo status $?",
                   WEFT_BINARY_DIR, a.path(), b.path(), directory.path().string(), more)},
      "", std::chrono::seconds(20));
  EXPECT_TRUE(said);
  const auto words = directory.file("sides.txt");
  const auto end = words.find('\n');
  return {words.substr(0, end), end == std::string::npos ? "" : words.substr(end), said.value_or("")};
}

/// Of two of RoCE.
std::string words_sent(const std::string& more) {
  const auto sent = live_words(kLive, kLive, more);
  EXPECT_THAT(sent.said, HasSubstr("address")) << "the sweep itself lacks nothing else";
  return sent.a + sent.b;
}

/// Of the program itself, which runs itself for each sweep: what it printed, and its status.
std::string compared_simulated(const char* a, const char* b, const std::string& more) {
  const ScratchFile file_a(a), file_b(b);
  const auto said = os::run_program(
      {"sh", "-c",
       fmt::format("{}/weft compare run --no-config --simulate {} {} --blocks 3 {} 2>&1; echo status $?",
                   WEFT_BINARY_DIR, file_a.path(), file_b.path(), more)},
      "", std::chrono::minutes(2));
  EXPECT_TRUE(said);
  return said.value_or("");
}

TEST(CompareRun, SimulatedInfinibandIsComparedWithRoceByProbesAlone) {
  const auto said = compared_simulated(kRoceFile, kInfinibandFile, "--each budget=1s");
  EXPECT_THAT(said, HasSubstr("equal within 0.1 %"));
  EXPECT_THAT(said, testing::ContainsRegex("status [03]")) << "few packets may not decide";
  EXPECT_THAT(said, AllOf(HasSubstr("NICs that were reached"), HasSubstr("probes that arrived 4 hops")));
  EXPECT_THAT(said, HasSubstr("impossible here: B: transfers, rates and collisions: simulated InfiniBand"));
  EXPECT_THAT(said, Not(HasSubstr("round trip 2 hops")));
  const auto turned = compared_simulated(kInfinibandFile, kRoceFile, "--each budget=1s");
  EXPECT_THAT(turned, HasSubstr("impossible here: A: transfers"));
  const auto two = compared_simulated(kInfinibandFile, kInfinibandFile, "--each budget=1s");
  EXPECT_THAT(two, AllOf(HasSubstr("round trip 2 hops"), Not(HasSubstr("impossible"))));
  const auto loaded = compared_simulated(kRoceFile, kInfinibandFile, "--each load=full");
  EXPECT_THAT(loaded, AllOf(HasSubstr("only probes can be compared"), HasSubstr("status 64")));
}

TEST(CompareRun, WithoutLoadOnOneSideRoundTripsAreCompared) {
  const auto said = compared_simulated(kRoceFile, kRoceFile, "--each load=none,budget=1s");
  EXPECT_THAT(said,
              AllOf(HasSubstr("round trip 2 hops"), Not(HasSubstr("all-pairs")), HasSubstr("status 0")));
  const auto one =
      compared_simulated(kRoceFile, kRoceFile, "--each budget=1s --variant load=none --variant load=light");
  EXPECT_THAT(one, AllOf(HasSubstr("all cells: round trip"), HasSubstr("only in B: all-pairs flow")));
}

TEST(CompareRun, SettingsThatASweepRefusesAreRefusedInItsWords) {
  const auto said = compared_simulated(kRoceFile, kRoceFile, "--each budget=500ms");
  EXPECT_EQ(said, "weft: --budget 500ms: expected 1s to 24h\nstatus 64\n");
}

TEST(CompareRun, SidesWithoutACellInCommonAreRefusedAfterTheFirstBlock) {
  const Directory directory;
  const auto outcome = run(directory, "120", {"--blocks", "9"},
                           "echo $BASE >> $DIR/order; echo '# OSU MPI Latency Test v5.9'; "
                           "echo '# Size Latency (us)'; echo \"$BASE 1.5\"");
  EXPECT_EQ(outcome.status, 64) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("no cell is on both sides"));
  EXPECT_EQ(std::ranges::count(directory.file("order"), '\n'), 4) << "no further block ran";
}

TEST(CompareRun, ALiveFabricIsOnlyLoadedWhereThatIsSaid) {
  const auto is_loaded = AllOf(HasSubstr("--pattern=all-pairs"), HasSubstr("--load=light"));
  const auto is_not =
      AllOf(Not(HasSubstr("--pattern")), Not(HasSubstr("--load=light")), Not(HasSubstr("--load=full")));
  EXPECT_THAT(words_sent(""), is_not);
  EXPECT_THAT(words_sent("--each load=none"), is_not);
  EXPECT_THAT(words_sent("--each load=light"), is_loaded);
  EXPECT_THAT(words_sent("--each load=light,pattern=links"), Not(HasSubstr("all-pairs")));
}

TEST(CompareRun, LiveInfinibandIsComparedWithLiveRoceByProbesAloneUnlessQueuePairsAreAskedFor) {
  const auto probes = live_words(kLive, kLiveInfiniband, "");
  EXPECT_THAT(probes.a, AllOf(HasSubstr("--load=none"), Not(HasSubstr("--engine"))));
  EXPECT_THAT(probes.b, AllOf(HasSubstr("--load=none"), HasSubstr("--engine=umad")));
  const auto refused = live_words(kLive, kLiveInfiniband, "--each load=full");
  EXPECT_EQ(refused.a, "") << "RoCE is not loaded before that is said";
  EXPECT_THAT(refused.said, AllOf(HasSubstr("load=full: InfiniBand is one of the sides"),
                                  HasSubstr("engine=verbs"), HasSubstr("status 64")));
  const auto loaded = live_words(kLiveInfiniband, kLive, "--each engine=verbs,load=light");
  for (const std::string& side : {loaded.a, loaded.b})
    EXPECT_THAT(side, AllOf(HasSubstr("--engine=verbs"), HasSubstr("--load=light"),
                            HasSubstr("--pattern=all-pairs"), Not(HasSubstr("load=none"))));
  const auto quiet = live_words(kLive, kLiveInfiniband, "--variant engine=raw --variant engine=verbs");
  EXPECT_THAT(quiet.a + quiet.b, Not(HasSubstr("--load=")));
}

TEST(CompareRun, TwoLiveFabricsOfInfinibandAreLoadedByQueuePairsAlone) {
  EXPECT_THAT(live_words(kLiveInfiniband, kLiveInfiniband, "--each load=light").said,
              AllOf(HasSubstr("engine=verbs"), HasSubstr("status 64")));
  EXPECT_THAT(live_words(kLiveInfiniband, kLiveInfiniband, "--each load=light,engine=verbs").b,
              HasSubstr("--load=light"));
}

TEST(CompareRun, AReportTakesThePlaceOfNoFileThatIsRead) {
  const ScratchFile a("fabric: a\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1, link: 400G}\n");
  const ScratchFile b("fabric: b\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1, link: 400G}\n");
  const auto outcome = call(compare_command, {"run", "--simulate", a.path(), b.path(), "--html", b.path()});
  EXPECT_EQ(outcome.status, 64);
  EXPECT_THAT(outcome.err, HasSubstr("would take its place"));
  EXPECT_THAT(text_of(b.path()), HasSubstr("fabric: b"));
}

TEST(CompareRun, LabelsThatAreAssignedAgainstRandomOnesDifferByTheirCollisions) {
  const ScratchFile fabric("fabric: f\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 4, link: 100G}\n");
  // The program itself: it runs itself for each sweep.
  const auto said = os::run_program(
      {"sh", "-c",
       fmt::format("{}/weft compare run --simulate {} --variant labels=random --variant labels=assigned "
                   "--blocks 3 --only 'slowest flow' -o json; test $? = 1",
                   WEFT_BINARY_DIR, fabric.path())},
      "", std::chrono::seconds(60));
  ASSERT_TRUE(said) << said.error().message;
  const auto tree = nlohmann::json::parse(*said);
  const auto& cell = tree["cells"][0];
  EXPECT_GT(cell["ratio"].get<double>(), 1.5) << cell;
  const auto& most = tree["reasons"][0]["layers"][0];
  EXPECT_EQ(most["layer"], "collisions");
  EXPECT_NEAR(most["share"].get<double>(), 1, 0.05);
}

TEST(CompareRun, AWrongNameOfCellsLosesNoRunThatWasKept) {
  const Directory directory, runs;
  const Arguments kept{"--blocks", "3", "--keep", runs.path().string()};
  ASSERT_EQ(run(directory, "120", kept).status, 1);
  auto wrong = kept;
  wrong.insert(wrong.end(), {"--only", "no such cell"});
  EXPECT_EQ(run(directory, "120", wrong).status, 64);
  const std::string order = directory.file("order");
  EXPECT_EQ(run(directory, "120", kept).status, 1);
  EXPECT_EQ(directory.file("order"), order) << "nothing ran again";
}

TEST(CompareRun, WhatARunThatWasEndedLeavesBehindIsEndedToo) {
  const Directory directory;
  const auto left = directory.path() / "left";
  const auto command = fmt::format(
      "(trap '' TERM; echo $$ > /dev/null; sh -c 'echo $PPID' > {}; exec sleep 300) & wait", left.string());
  EXPECT_GE(run(directory, "120", {"--blocks", "3", "--run-limit", "1s"}, command.c_str()).status, 64);
  const auto pid = std::stoi(text_of(left));
  for (int tries = 0; tries < 500 && is_running(pid); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(is_running(pid)) << "it would disturb the next run";
}

TEST(CompareRun, ABenchmarkThatFailsIsQuotedFromItsOutputWhereItsErrorsAreEmpty) {
  const Directory directory;
  const auto outcome = run(directory, "120", {"--blocks", "3"}, "echo no device mlx5_9; exit 3");
  EXPECT_EQ(outcome.status, 69);
  EXPECT_THAT(outcome.err, HasSubstr("exit status 3: it printed: no device mlx5_9"));
}

TEST(CompareRun, ABenchmarkThatPrintsWithoutEndIsEnded) {
  const Directory directory;
  const auto outcome =
      run(directory, "120", {"--blocks", "3"}, "truncate -s 2G /proc/self/fd/1; sleep 60; echo $BASE");
  EXPECT_GE(outcome.status, 64);
  EXPECT_THAT(outcome.err, HasSubstr("it printed more than 1 GB"));
}

TEST(CompareRun, WhatARunLeavesBehindInASessionOfItsOwnIsEndedAndTold) {
  const Directory directory;
  const auto outcome = run(
      directory, "120", {"--blocks", "3", "--run-limit", "5s"},
      (std::string(kBenchmark) + "; setsid -f sh -c 'echo $$ >> $DIR/left; exec sleep 301'; "
                                 "until test $(cat $DIR/left 2>/dev/null | wc -l) -ge $n; do sleep .01; done")
          .c_str());
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("runs of A left processes behind, which were ended: s"));
  EXPECT_THAT(outcome.out, HasSubstr("runs of B left"));
  std::istringstream left(directory.file("left"));
  int pids = 0;
  for (int pid = 0; left >> pid; ++pids) EXPECT_FALSE(is_running(pid)) << pid;
  EXPECT_EQ(pids, 12) << "one of each run";
}

TEST(CompareRun, WhatASweepLeavesBehindBecomesNoChildOfTheComparison) {
  const Directory directory;
  const ComparedSide side{
      .name = "side",
      .argv = {"/bin/sh", "-c",
               fmt::format("sleep 302 & echo $! >> {}; exit 0", (directory.path() / "left").string())},
      .env = {}};
  const BlockPlan plan{.a = side,
                       .b = side,
                       .is_benchmark = false,
                       .directory = directory.path(),
                       .only = "",
                       .run_limit = std::chrono::seconds(20)};
  BlockRuns runs;
  EXPECT_FALSE(run_block(plan, 1, runs, [](std::size_t, std::string_view) {}, {})) << "it has no document";
  std::istringstream left(directory.file("left"));
  int pids = 0;
  for (int pid = 0; left >> pid; ++pids) {
    EXPECT_NE(parent_of(pid), getpid()) << "nobody waits for it";
    kill(pid, SIGKILL);
  }
  EXPECT_EQ(pids, 2) << "the run, and once again";
}

TEST(CompareRun, WhatMakesNoSenseIsRefused) {
  const auto refused = [](Arguments words) {
    words.insert(words.begin(), "run");
    const auto outcome = call(compare_command, words);
    EXPECT_EQ(outcome.status, 64) << outcome.out;
    return outcome.err;
  };
  EXPECT_THAT(refused({}), HasSubstr("0 to compare"));
  EXPECT_THAT(refused({"a.yaml"}), HasSubstr("1 to compare"));
  EXPECT_THAT(refused({"a.yaml", "--variant", "qps=1"}), HasSubstr("--variant stands 1 times"));
  EXPECT_THAT(refused({"--lab=a", "--lab=b", "--simulate"}), HasSubstr("a lab is no simulation"));
  EXPECT_THAT(refused({"--lab=a", "--lab=b", "--each", "speed=9"}), HasSubstr("'speed' is no option"));
  for (const char* ours : {"seed=9", "html=x.html", "metrics-file=x.prom"})
    EXPECT_THAT(refused({"--lab=a", "--lab=b", "--each", ours}), HasSubstr("set by the comparison"));
  EXPECT_THAT(refused({"--lab=a", "--lab=b", "--each", ""}), HasSubstr("expected settings"));
  EXPECT_THAT(refused({"--lab=a", "--lab=b", "--blocks", "2"}), HasSubstr("expected 3 to 1000"));
  EXPECT_THAT(refused({"--run", "true"}), HasSubstr("A and B are the same"));
  EXPECT_THAT(refused({"--run", "echo {hosts}"}), HasSubstr("nothing tells the hosts of A"));
  EXPECT_THAT(refused({"--run", "echo {hosts}", "--hosts", "A:x"}), HasSubstr("the hosts of B"));
  EXPECT_THAT(refused({"--run", "echo {hosts}", "--hosts", "x;y"}), HasSubstr("no host's name"));
  EXPECT_THAT(refused({"--run", "true", "--hosts", "x"}), HasSubstr("has no {hosts}"));
  EXPECT_THAT(refused({"--run", "true", "a.yaml"}), HasSubstr("has no {hosts}"));
  EXPECT_THAT(refused({"--lab=a", "--lab=b", "--hosts", "x"}), HasSubstr("--hosts is for --run"));
  EXPECT_THAT(refused({"--run", "true", "--lab=a"}), HasSubstr("--lab is for weft's own"));
  EXPECT_THAT(refused({"--run", "true", "--env", "C:X=1"}), HasSubstr("expected a side"));
}

}  // namespace
}  // namespace weft::cli
