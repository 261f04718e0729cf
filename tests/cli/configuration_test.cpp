// Options from files and variables: what counts, who wins, and what is said of mistakes.
#include "cli/configuration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/configured.hpp"
#include "tests/places.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/os/run_program.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kFabric = "fabric: a\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1}\n";

std::string refusal(const std::string& text) {
  const auto pages = command_pages();
  const auto read = parse_configuration(text, "weft.yaml", pages);
  return read ? "accepted" : read.error().message;
}

/// The words that the configuration adds to a command line, of a file and of variables.
ConfiguredLine configured(const Arguments& line, const std::string& text,
                          std::vector<std::string> environment = {}) {
  const ScratchFile file(text);
  const auto made = with_configuration(line, {file.path(), std::move(environment)});
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return made.value_or(ConfiguredLine{});
}

Arguments added(const Arguments& line, const std::string& text, std::vector<std::string> environment = {}) {
  auto words = configured(line, text, std::move(environment)).words;
  words.erase(words.begin());
  return words;
}

TEST(Configuration, TheMostSpecificKeyOfASourceCounts) {
  EXPECT_THAT(added({"sweep"}, "budget: 5s\nsweep: {budget: 9s}\n"), ElementsAre("--budget=9s"));
  EXPECT_THAT(added({"simulate"}, "budget: 5s\nsweep: {budget: 9s}\n"), ElementsAre("--budget=5s"));
  EXPECT_THAT(added({"lab", "up"}, "lab: {name: a, up: {name: b}}\n"), ElementsAre("up", "--name=b"));
  EXPECT_THAT(added({"lab", "down"}, "lab: {name: a, up: {name: b}}\n"), ElementsAre("down", "--name=a"));
}

TEST(Configuration, ALaterSourceWins) {
  EXPECT_THAT(added({"sweep"}, "sweep: {budget: 9s}\n", {"WEFT_BUDGET=7s"}), ElementsAre("--budget=7s"));
  EXPECT_THAT(added({"sweep"}, "", {"WEFT_BUDGET=7s", "WEFT_SWEEP_BUDGET=8s"}), ElementsAre("--budget=8s"));
  EXPECT_THAT(added({"sweep", "--budget", "1s"}, "budget: 9s\n", {"WEFT_BUDGET=7s"}),
              ElementsAre("--budget", "1s"));
  EXPECT_THAT(added({"sweep", "-o", "json"}, "output: table\n"), ElementsAre("-o", "json"));
}

TEST(Configuration, WhatIsSaidLaterDisplacesWhatDoesNotGoWithIt) {
  EXPECT_THAT(added({"sweep", "--lab=x"}, "fabric: f.yaml\nhosts: a,b\n"), ElementsAre("--lab=x"));
  EXPECT_THAT(added({"compare", "run", "--lab=a", "--lab=b"}, "fabric: f.yaml\n"),
              ElementsAre("run", "--lab=a", "--lab=b"));
  EXPECT_THAT(added({"sweep"}, "lab: x\n", {"WEFT_FABRIC=f.yaml"}), ElementsAre("--fabric=f.yaml"));
  EXPECT_THAT(added({"sweep", "f.yaml"}, "lab: x\n"), ElementsAre("f.yaml"));
}

TEST(Configuration, FlagsAreOnOrOffAndListsBecomeSeveralWords) {
  EXPECT_THAT(added({"sweep"}, "all: true\n"), ElementsAre("--all"));
  EXPECT_THAT(added({"sweep"}, "all: true\n", {"WEFT_ALL=off"}), IsEmpty());
  EXPECT_THAT(added({"simulate"}, "stall: [a, b]\n"), ElementsAre("--stall=a", "--stall=b"));
  EXPECT_THAT(added({"simulate"}, "", {"WEFT_STALL= a  b"}), ElementsAre("--stall=a", "--stall=b"));
  const ScratchFile file("all: perhaps\n");
  const auto wrong = with_configuration({"sweep"}, {file.path(), {}});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().message,
            file.path() + ":1: --all is on or off: expected true or false, found 'perhaps'");
}

TEST(Configuration, MistakesAreNamedByFileLineAndTheNearestOption) {
  EXPECT_EQ(refusal("seed: 1\nbudgt: 5s\n"),
            "weft.yaml:2: no command has an option 'budgt': did you mean 'budget'?");
  EXPECT_EQ(refusal("sweep:\n  budgt: 5s\n"),
            "weft.yaml:2: 'sweep' has no option 'budgt': did you mean 'budget'?");
  EXPECT_EQ(refusal("swep: {budget: 5s}\n"),
            "weft.yaml:1: no command is called 'swep': did you mean 'sweep'?");
  EXPECT_EQ(refusal("simulate: {hosts: 4, device: x}\n"), "weft.yaml:1: 'simulate' has no option 'device'");
  EXPECT_EQ(refusal("diagnose: 5s\n"),
            "weft.yaml:1: 'diagnose' is a command: expected its options, found '5s'");
  EXPECT_EQ(refusal("budget: 5s\nbudget: 6s\n"), "weft.yaml:2: 'budget' stands twice");
  EXPECT_THAT(refusal("budget:\n"), HasSubstr("'budget' has no value"));
  EXPECT_THAT(refusal("- a\n"), HasSubstr("expected options and commands"));
  EXPECT_THAT(refusal("lab: {down: {force: true}}\n"), HasSubstr("stands on the command line alone"));
  EXPECT_THAT(refusal("agent: {server: a}\n"), HasSubstr("stands on the command line alone"));
  EXPECT_THAT(refusal("a: [\n"), HasSubstr("weft.yaml:2: not YAML"));
  EXPECT_EQ(refusal("# nothing\n\n"), "accepted");
  EXPECT_EQ(refusal(""), "accepted");
}

TEST(Configuration, AnAgentThatStandsByACredentialTakesWhatASiteSays) {
  const Arguments line{"agent", "--standing", "--credential", "/etc/weft/agent"};
  auto expected = line;
  expected.erase(expected.begin());
  expected.insert(expected.begin(), {"--nic=eth0=10.1.0.1", "--traffic-class=104"});
  // What is meant for other commands (the fabric's file, the server of sweeps) is not for it.
  EXPECT_THAT(added(line,
                    "traffic-class: 104\nfabric: /etc/weft/fabric.yaml\nserver: nats://a:1\nengine: verbs\n"
                    "agent: {nic: [eth0=10.1.0.1]}\n"),
              testing::UnorderedElementsAreArray(expected));
  expected.insert(expected.begin(), {"--engine=verbs", "--gid-index=3", "--probe-transport=uc"});
  EXPECT_THAT(added(line,
                    "traffic-class: 104\nengine: auto\ngid-index: 1\n"
                    "agent: {nic: [eth0=10.1.0.1], engine: verbs, gid-index: 3}\n",
                    {"WEFT_ENGINE=dpdk", "WEFT_AGENT_PROBE_TRANSPORT=uc"}),
              testing::UnorderedElementsAreArray(expected));
}

TEST(Configuration, AgentsHelpAndHiddenCommandsTakeNone) {
  const std::string text = "traffic-class: 96\nbudget: 5s\n";
  EXPECT_THAT(added({"agent", "--run", "1"}, text), ElementsAre("--run", "1"));
  EXPECT_THAT(added({"sweep", "--help"}, text), ElementsAre("--help"));
  EXPECT_THAT(added({"guest-serve"}, text), IsEmpty());
  EXPECT_THAT(added({"sweep", "--no-config"}, text, {"WEFT_BUDGET=1s"}), ElementsAre("--no-config"));
  EXPECT_THAT(added({"sweep"}, text, {"WEFT_NO_CONFIG=1"}), IsEmpty());
}

TEST(Configuration, TheWordsOfAProgramToRunAreNotOptions) {
  EXPECT_THAT(added({"lab", "exec", "host1", "--", "ls", "--name"}, "lab: {name: a}\n"),
              ElementsAre("exec", "--name=a", "host1", "--", "ls", "--name"));
}

TEST(Configuration, AFileAskedForStandsAloneAndMustBeThere) {
  const ScratchFile one("budget: 9s\n");
  EXPECT_THAT(added({"sweep", "--config", one.path()}, "seed: 1\n"),
              ElementsAre("--budget=9s", "--config", one.path()));
  const auto none = with_configuration({"sweep", "--config", "/nonexistent/w.yaml"}, {"/nonexistent/s", {}});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().message, "--config /nonexistent/w.yaml: not there");
}

TEST(Configuration, AHomeThatIsNotThereIsNoTroubleAndAFolderInTheFilesPlaceIs) {
  EXPECT_THAT(configured({"sweep"}, "", {"HOME=/nonexistent", "XDG_CONFIG_HOME="}).words,
              ElementsAre("sweep"));
  const auto folder = with_configuration({"sweep"}, {std::filesystem::temp_directory_path().string(), {}});
  ASSERT_FALSE(folder.has_value());
  EXPECT_THAT(folder.error().message, HasSubstr("--no-config"));
}

TEST(Configuration, AHomeThatMayNotBeWrittenToIsReadAndLeftAsItIs) {
  const auto home = os::ScratchDirectory::make();
  ASSERT_TRUE(home) << home.error().message;
  const auto folder = home->path() / ".config/weft";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "weft.yaml") << "quiet: on\n";
  const auto mode = [&](std::filesystem::perms perms) { std::filesystem::permissions(home->path(), perms); };
  mode(std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const ScratchFile fabric(kFabric);
  const auto said = os::run_program({"env", "HOME=" + home->path().string(),
                                     "XDG_CONFIG_HOME=", WEFT_BINARY_DIR "/weft", "simulate", fabric.path()},
                                    "", std::chrono::seconds(30));
  mode(std::filesystem::perms::owner_all);
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_THAT(*said, testing::StartsWith("WEFT OK - ")) << "the option of the file is in force";
  std::size_t there = 0;
  for (const auto& each : std::filesystem::recursive_directory_iterator(home->path()))
    there += each.is_regular_file() ? 1 : 0;
  EXPECT_EQ(there, 1u) << "nothing is written there";
}

TEST(Configuration, EveryOptionHasAVariableOfItsOwn) {
  std::map<std::string, std::string> keys;
  const auto pages = command_pages();
  for (const CommandPage& page : pages)
    for (const OptionText& option : page.options) {
      if (!page.takes_configuration || option.command_line_only) continue;
      const std::string name = variable_of(page.key() + "." + option.name);
      const auto read = environment_settings(std::vector{name + "=1"}, pages);
      EXPECT_THAT(read.unknown, IsEmpty()) << name;
      EXPECT_TRUE(keys.emplace(name, page.key()).second)
          << name << " of " << page.key() << " and " << keys[name];
      Settings settings = read.settings;
      EXPECT_EQ(in_force(page, std::vector{settings}).size(), 1U) << name;
    }
}

TEST(ConfigCommand, ShowsWhatIsInForceAndWhatItOverrides) {
  const ScratchFile file("sweep: {budget: 9s}\nfabric: f.yaml\n");
  setenv("WEFT_BUDGET", "7s", 1);
  setenv("WEFT_SWEEP_LAB", "x", 1);
  setenv("WEFT_BUGDET", "7s", 1);
  const auto table = call(config_command, {"sweep", "--config", file.path()});
  const auto json = call(config_command, {"sweep", "--config", file.path(), "-o", "json"});
  for (const char* name : {"WEFT_BUDGET", "WEFT_SWEEP_LAB", "WEFT_BUGDET"}) unsetenv(name);
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_THAT(table.out,
              HasSubstr("  --budget 7s\n      from WEFT_BUDGET\n      instead of 9s from " + file.path()));
  EXPECT_THAT(table.out, HasSubstr("not in force: --lab was said later"));
  EXPECT_THAT(table.out, HasSubstr("unknown variable WEFT_BUGDET: did you mean 'WEFT_BUDGET'?"));
  EXPECT_THAT(table.out, HasSubstr("  --engine auto\n      default\n"));
  expect_matches_schema(json.out, "config");
  EXPECT_EQ(call(config_command, {"swep"}).status, 64);
}

TEST(ConfigCommand, AWrongValueIsReportedWithItsPlace) {
  const ScratchFile fabric(kFabric);
  const ScratchFile file("output: xml\n");
  std::vector<std::string> words{"weft", "simulate", fabric.path(), "--config", file.path()};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_command_line(static_cast<int>(argv.size()), argv.data()), 64);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("--output=xml (" + file.path() + ":1)"));
}

}  // namespace
}  // namespace weft::cli
