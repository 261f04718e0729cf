// The command line as people meet it: help, version, and mistakes, each answered with what to do.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "cli/commands.hpp"
#include "cli/help_text.hpp"
#include "cli/pages.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/files/file_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;

constexpr const char* kClos = "fabric: a\nkind: roce\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2}\n";

int run_words(const Arguments& words) {
  std::string program = "weft";
  Arguments copy = words;
  std::vector<char*> argv{program.data()};
  for (std::string& word : copy) argv.push_back(word.data());
  return run_command_line(static_cast<int>(argv.size()), argv.data());
}

Outcome weft_called(const Arguments& words) { return call(run_words, words); }

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

void expect_refused(const Arguments& words, const std::string& part) {
  const auto outcome = weft_called(words);
  EXPECT_EQ(outcome.status, 64) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(part));
  EXPECT_THAT(outcome.err, testing::StartsWith("weft: "));
  EXPECT_EQ(outcome.out, "");
}

TEST(CommandLine, WithoutACommandSaysWhereHelpIs) { expect_refused({}, "weft --help"); }

TEST(CommandLine, AnswersATypoWithTheNearestCommand) {
  expect_refused({"swep"}, "did you mean 'sweep'");
  expect_refused({"sweep", "--budgt", "3s"}, "did you mean '--budget'");
  expect_refused({"simulate", "--zzz"}, "unknown option '--zzz'");
}

TEST(CommandLine, AnOptionWithoutACommandIsCalledOne) {
  expect_refused({"--fabric", "f.yaml"}, "unknown option '--fabric' before a command");
}

TEST(CommandLine, TheUsageThatAnswersAMistakeFitsATerminal) {
  for (const CommandPage& page : command_pages()) {
    Arguments words = page.words;
    words.emplace_back("--no-such-option");
    const auto outcome = weft_called(words);
    EXPECT_EQ(outcome.status, 64) << page.title();
    EXPECT_LE(longest_line(outcome.err), kHelpColumns) << outcome.err;
  }
}

TEST(CommandLine, HelpOfACommandIsItsOwn) {
  const auto outcome = weft_called({"help", "simulate"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, weft_called({"simulate", "--help"}).out);
  expect_refused({"help", "swep"}, "did you mean 'sweep'");
}

TEST(CommandLine, AStandingAgentWantsItsFabricAndRawPackets) {
  const Arguments agent{"agent", "--server", "nats://127.0.0.1:1", "--run", "1", "--host", "a",
                        "--nic", "10.0.0.1"};
  const auto with = [&](const Arguments& more) {
    auto words = agent;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  expect_refused(with({"--standing"}), "--fabric");
  expect_refused(with({"--fabric", "roce-a"}), "--standing");
  expect_refused(with({"--standing", "--fabric", "roce-a", "--engine", "dpdk"}), "raw packets");
  expect_refused(with({"--standing", "--fabric", "roce-a"}), "leave --run out");
  expect_refused({"agent", "--standing"}, "--credential FILE");
}

TEST(CommandLine, AWordTooManyIsShown) { expect_refused({"lab", "status", "nolab"}, "'nolab'"); }

TEST(CommandLine, ANumberBelowZeroIsRefusedAsItWasTyped) {
  expect_refused({"sweep", "--service-level", "-1"}, "--service-level -1: expected a number from 0 on");
  expect_refused({"simulate", "--seed=-7"}, "--seed -7");
  expect_refused({"simulate", "--seed", "x"}, "--seed x: expected a number from 0 on");
  expect_refused({"topology", "discover", "--window", "-1"}, "--window -1");
}

/// A descriptor of the process that leads to a full disk meanwhile.
class FullDisk {
 public:
  explicit FullDisk(int descriptor) : descriptor_(descriptor), kept_(dup(descriptor)) {
    std::fflush(nullptr);
    const int full = open("/dev/full", O_WRONLY);
    dup2(full, descriptor_);
    close(full);
  }
  ~FullDisk() {
    std::fflush(nullptr);
    dup2(kept_, descriptor_);
    close(kept_);
    std::clearerr(stdout);
    std::clearerr(stderr);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  int descriptor_;
  int kept_;
};

TEST(CommandLine, WhatCannotBePrintedIsNoInternalErrorAndNoCrash) {
  // Longer than a buffer, so that it is refused while it is printed.
  const ScratchFile fabric("fabric: a\nclos: {leaves: 16, spines: 16, hosts_per_leaf: 4}\n");
  for (const Arguments& words : {Arguments{"topology", "show", fabric.path(), "-o", "json"}, {"--version"}}) {
    testing::internal::CaptureStderr();
    int status = 0;
    {
      const FullDisk disk(STDOUT_FILENO);
      status = run_words(words);
    }
    EXPECT_EQ(status, 69);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "weft: the output cannot be written: No space left on device\n");
  }
}

TEST(CommandLine, MessagesThatCannotBeWrittenAreLostAndTheRestGoesOn) {
  const ScratchFile fabric(kClos);
  const FullDisk disk(STDERR_FILENO);
  EXPECT_EQ(run_words({"nonsense"}), 64);
  EXPECT_EQ(run_words({"simulate", fabric.path(), "--fault", "x"}), 64);
}

TEST(CommandLine, ASettingThatIsNoneIsAnsweredWithThoseThereAre) {
  expect_refused({"sweep", "--lab", "--tolerate", "los=1%"}, "expected loss=0.01%,delay=1ms");
  expect_refused({"sweep", "--lab", "--detect", ""}, "expected loss=0.2%,rate=25%");
}

TEST(CommandLine, SaysItsVersion) {
  const auto outcome = weft_called({"--version"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, testing::MatchesRegex("weft [0-9]+\\.[0-9]+\\.[0-9]+( \\([0-9a-f]+\\))?\n"
                                                 "engines: raw, sim.*\nbuilt with: .*\n"));
}

TEST(CommandLine, HelpListsEveryCommandAndFitsATerminal) {
  const auto outcome = weft_called({"--help"});
  EXPECT_EQ(outcome.status, 0);
  for (const Command& command : commands())
    EXPECT_TRUE(command.hidden || outcome.out.find(std::string(command.name)) != std::string::npos)
        << command.name;
  EXPECT_LE(longest_line(outcome.out), kHelpColumns) << outcome.out;
}

/// Whether each line of the first paragraph is as full as the next one's first word lets it be.
bool is_filled(const std::string& page) {
  std::istringstream lines(page.substr(0, page.find("\n\n")));
  std::string line;
  std::getline(lines, line);
  for (std::string next; std::getline(lines, next); line = next)
    if (line.size() + 1 + next.substr(0, next.find(' ')).size() <= kHelpColumns) return false;
  return true;
}

TEST(CommandLine, EveryCommandHasAHelpPageWithAnExampleThatFitsATerminal) {
  std::vector<Arguments> pages;
  for (const Command& command : commands()) pages.push_back({std::string(command.name), "--help"});
  for (const char* word : {"up", "down", "status", "fault", "heal", "exec"})
    pages.push_back({"lab", word, "--help"});
  for (const char* word : {"show", "check", "generate"}) pages.push_back({"topology", word, "--help"});
  pages.push_back({"blacklist", "export", "--help"});
  for (const Arguments& page : pages) {
    const auto outcome = weft_called(page);
    EXPECT_EQ(outcome.status, 0) << page[0];
    EXPECT_THAT(outcome.out, HasSubstr("usage: weft " + page[0])) << outcome.err;
    EXPECT_THAT(outcome.out, testing::ContainsRegex("examples:\n +.*weft " + page[0]));
    EXPECT_LE(longest_line(outcome.out), kHelpColumns) << outcome.out;
    EXPECT_TRUE(is_filled(outcome.out)) << outcome.out;
  }
}

TEST(CommandLine, RefusesBadArgumentsOfASweep) {
  expect_refused({"sweep"}, "--lab=NAME");
  expect_refused({"sweep", "--lab=no-such-lab"}, "no-such-lab");
  expect_refused({"sweep", "--lab", "--load", "much"}, "expected none, light or full");
  expect_refused({"sweep", "--lab", "--budget", "soon"}, "--budget");
  expect_refused({"sweep", "--lab", "--budget", "1ms"}, "expected 1s to 24h");
  expect_refused({"sweep", "--lab", "--confidence", "1.5"}, "between 0 and 1");
  expect_refused({"sweep", "--lab", "--probe-rate", "0"}, "--probe-rate");
  expect_refused({"sweep", "--lab", "-o", "xml"}, "expected table, json, jsonl or csv");
}

TEST(CommandLine, RefusesBadArgumentsOfASimulation) {
  const ScratchFile fabric(kClos);
  expect_refused({"simulate"}, "no fabric file given");
  expect_refused({"simulate", "/no/such.yaml"}, "/no/such.yaml");
  for (const auto& [fault, part] :
       std::vector<std::pair<std::string, std::string>>{{"leaf1--spine9:down", "spine9"},
                                                        {"leaf1--spine1:loss=200%", "200"},
                                                        {"leaf1--spine1:fire=1", "fire"},
                                                        {"leaf1--spine1", "leaf1--spine1"},
                                                        {"leaf1--spine1:loss=1%,from=leaf2", "leaf2"},
                                                        {"", "fault"}})
    expect_refused({"simulate", fabric.path(), "--fault", fault}, part);
  expect_refused({"simulate", fabric.path(), "--load", "9"}, "expected none, light or full");
  expect_refused({"simulate", fabric.path(), "--save", "/no/such/file"},
                 "--save /no/such/file: cannot write /no/such: No such file or directory");
}

TEST(CommandLine, RefusesToWriteOverWhatItReadsOrWritesBesides) {
  const ScratchFile fabric(kClos);
  const ScratchFile other("{}");
  const std::string& file = fabric.path();
  const auto is = [](const char* option) { return fmt::format("it is the file of --{} too", option); };
  expect_refused({"simulate", file, "--save", file}, is("fabric"));
  expect_refused({"simulate", file, "--flows", other.path(), "--plot", other.path()}, is("flows"));
  expect_refused({"simulate", file, "--save", "/dev/shm/../shm/no-a", "--paths", "/dev/shm/no-a"},
                 is("paths"));
  expect_refused(
      {"diagnose", "--fabric", file, "--observations", other.path(), "--metrics-file", other.path()},
      is("observations"));
  expect_refused({"topology", "export", file, "--to", "topology.conf", "--file", file}, is("fabric"));
  expect_refused({"gate", "publish", other.path(), "--fabric", file, "--file", other.path()},
                 is("diagnosis"));
  EXPECT_EQ(files::read_text_file(file, Bytes(1000)).value(), kClos);
}

TEST(CommandLine, RefusesBadArgumentsOfATrace) {
  const ScratchFile fabric(kClos);
  expect_refused({"trace"}, "weft trace SRC DST");
  expect_refused({"trace", "host1", "host9", "--fabric", fabric.path()}, "host9");
  expect_refused({"trace", "host1", "host1", "--fabric", fabric.path()}, "same");
  expect_refused({"trace", "host1", "host3", "--fabric", fabric.path(), "--labels", "0"}, "--labels");
  expect_refused({"trace", "host1", "host3", "--lab=no-such-lab", "--exchange", "rdmacm"}, "add --audit");
  expect_refused({"trace", "host1", "host3", "--lab=no-such-lab", "--move"}, "add --audit");
  expect_refused({"trace", "host1", "host3", "--fabric", fabric.path(), "--fields", "--map"}, "leave out");
  expect_refused(
      {"trace", "host1", "host3", "--fabric", fabric.path(), "--audit", "4", "--move", "--simulate"},
      "leave out --simulate");
  expect_refused({"trace", "host1", "host3", "--lab=no-such-lab", "--audit", "4", "--exchange", "mail"},
                 "expected nats or rdmacm");
  for (const char* engine : {"raw", "dpdk"})
    expect_refused({"trace", "host1", "host3", "--fabric", fabric.path(), "--engine", engine},
                   "no addresses");
  const std::string device = "--dpdk-args=--no-huge --vdev=net_af_packet0,iface={interface}";
  expect_refused({"trace", "host1", "host3", "--fabric", fabric.path(), device}, "no addresses");
  expect_refused({"trace", "host1", "host3", "--fabric", fabric.path(), device, "--simulate"}, "--simulate");
  expect_refused({"trace", "host1", "host3"}, "--lab");
  expect_refused({"trace", "host1", "host3", "--lab=no-such-lab"}, "no-such-lab");
}

TEST(Simulate, GivesADocumentOfTheSchemaAndTheStatusOfItsVerdict) {
  const ScratchFile fabric(kClos);
  const auto healthy = weft_called({"simulate", fabric.path(), "-o", "json"});
  EXPECT_EQ(healthy.status, 0) << healthy.out;
  expect_matches_schema(healthy.out, "diagnosis");
  EXPECT_EQ(healthy.err, "");
  const auto broken = weft_called({"simulate", fabric.path(), "--fault", "leaf1--spine2:down", "-o", "json"});
  EXPECT_EQ(broken.status, 2) << broken.out;
  expect_matches_schema(broken.out, "diagnosis");
  EXPECT_THAT(broken.out, HasSubstr("leaf1--spine2"));
}

TEST(Simulate, BlamesAHostsCableOrNicAndNoLinkBetweenSwitches) {
  const ScratchFile fabric(kClos);
  const auto outcome = weft_called({"simulate", fabric.path(), "--fault", "host1--leaf1:loss=5%"});
  EXPECT_THAT(outcome.out, HasSubstr("host host1"));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("spine")));
}

TEST(Simulate, FindsALossOfOneInAThousandWithAMinutesProbes) {
  const ScratchFile fabric("fabric: a\nkind: roce\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 4}\n");
  for (const char* seed : {"1", "2", "3"}) {
    const auto outcome =
        weft_called({"simulate", fabric.path(), "--fault", "leaf1--spine2:loss=0.1%,from=leaf1", "--budget",
                     "60s", "--seed", seed});
    EXPECT_EQ(outcome.status, 1) << outcome.out;
    EXPECT_THAT(outcome.out, testing::ContainsRegex("leaf1--spine2 .from leaf1. +degraded +loss"));
  }
}

TEST(HelpText, BreaksLinesAtSpacesAndCommandsWithABackslash) {
  const std::string word(30, 'x');
  const std::string line = "  " + word + " " + word + " " + word;
  EXPECT_EQ(fit_prose(line, 3), "  " + word + " " + word + "\n   " + word);
  EXPECT_EQ(fit_commands(line + "\nshort\n"), "  " + word + " " + word + " \\\n      " + word + "\nshort\n");
  EXPECT_EQ(fit_prose(std::string(200, 'y')), std::string(200, 'y'));
}

}  // namespace
}  // namespace weft::cli
