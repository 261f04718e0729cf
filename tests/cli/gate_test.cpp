// `weft gate` and `weft gate publish` as a user calls them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "cli/blacklist.hpp"
#include "cli/commands.hpp"
#include "tests/places.hpp"
#include "tests/support/clean_document.hpp"
#include "tests/support/command.hpp"
#include "tests/support/test_lab.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/run_program.hpp"

namespace weft::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// The whole program, configuration and all.
int run_whole(const Arguments& words) {
  std::vector<std::string> all{"weft"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  return run_command_line(static_cast<int>(pointers.size()), pointers.data());
}

class GateCommand : public testing::Test {
 protected:
  GateCommand() {
    std::ofstream(here("fabric.yaml"))
        << "fabric: f\nkind: roce\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 8, link: 400G}\n";
    unsetenv("SLURMD_NODENAME");
  }
  std::string here(const std::string& name) const { return directory_.path() / name; }
  void save_run(std::chrono::seconds ago) const {
    auto document = clean_document(*make_clos({.name = "f", .leaves = 2, .spines = 2, .hosts_per_leaf = 8}));
    document.stamp.generated_at =
        std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) - ago;
    document.links = {{.link = "host1--leaf1",
                       .from = {},
                       .ends = {},
                       .verdict = Verdict::failed,
                       .cause = Cause::down,
                       .confidence = 1,
                       .evidence = {}},
                      {.link = "host2--leaf1",
                       .from = {},
                       .ends = {},
                       .verdict = Verdict::degraded,
                       .confidence = 1,
                       .evidence = {}}};
    document.verdict = Verdict::failed;
    std::ofstream(here("run.json")) << diagnosis_json(document);
  }
  Outcome publish(std::vector<std::string> words) const {
    words.insert(words.begin(), "publish");
    words.insert(words.end(), {"--fabric", here("fabric.yaml"), "--file", here("gate")});
    return call(gate_command, words);
  }
  Outcome ask(std::vector<std::string> words) const {
    words.insert(words.end(), {"--file", here("gate")});
    return call(gate_command, words);
  }

 private:
  TestDirectory directory_;
};

TEST_F(GateCommand, TheProgramByItselfSaysTheSame) {
  save_run(std::chrono::seconds(60));
  ASSERT_EQ(publish({here("run.json")}).status, 0);
  const std::vector<Arguments> questions{{"--host", "host1"},
                                         {"--host=host1", "--refuse", "failed"},
                                         {"--host", "host2", "--refuse=degraded"},
                                         {"--host", "host3", "--refuse", "failed"},
                                         {"--host", "host1", "--max-age", "30s", "--refuse", "failed"},
                                         {"--host", "host99"},
                                         {"--refuse", "unknown"},
                                         {"--max-age", "x"},
                                         {"--color", "red"},
                                         {"host1"}};
  for (Arguments words : questions) {
    const auto of_weft = ask(words);
    words.insert(words.begin(), WEFT_BINARY_DIR "/weft-gate");
    words.insert(words.end(), {"--file", here("gate")});
    const auto alone = os::run_program(words, "", std::chrono::seconds(20));
    const auto asked = testing::PrintToString(words);
    if (of_weft.status == 0)
      EXPECT_EQ(alone.value_or("refused"), of_weft.out) << asked;
    else
      EXPECT_THAT(alone ? *alone : alone.error().message,
                  HasSubstr(fmt::format("(exit status {})", of_weft.status)))
          << asked;
  }
}

TEST_F(GateCommand, TheProgramByItselfReadsItsWordsAsWeftDoes) {
  save_run(std::chrono::seconds(60));
  ASSERT_EQ(publish({here("run.json")}).status, 0);
  const std::string file = here("gate");
  const std::vector<Arguments> questions{{"--fil", file, "--ho", "host1", "--r=failed"},
                                         {"--fi=" + file, "--hos=host2", "--m", "30s"},
                                         {"--h", "host1", "--file", file},
                                         {"--f", file, "--file", file},
                                         {"--file", file, "--host", "host1", "--"},
                                         {"--", "--file", file},
                                         {"--file", file, "--", "host1"},
                                         {"--file", file, "--host", "--"},
                                         {"--file", file, "--host="},
                                         {"--file", file, "--host"},
                                         {"--file", file, "--host", ""},
                                         {"--file", file, "-x"},
                                         {"--file", file, "-"},
                                         {"-h"},
                                         {"--file", file, "-h"},
                                         {"--hel", "--refuse", "unknown"},
                                         {"--help", "--color", "red"},
                                         {"--help=yes"}};
  for (Arguments words : questions) {
    const auto of_weft = call(gate_command, words);
    words.insert(words.begin(), WEFT_BINARY_DIR "/weft-gate");
    const auto alone = os::run_program(words, "", std::chrono::seconds(20));
    const auto asked = testing::PrintToString(words);
    if (of_weft.status != 0)
      EXPECT_THAT(alone ? *alone : alone.error().message,
                  HasSubstr(fmt::format("(exit status {})", of_weft.status)))
          << asked;
    else if (of_weft.out.starts_with("Says"))
      EXPECT_THAT(alone.value_or("refused"), StartsWith("usage: ")) << asked;
    else
      EXPECT_EQ(alone.value_or("refused"), of_weft.out) << asked;
  }
}

/// The verdict of a host by a simulated sweep of that fabric.
class GateOfASweep : public GateCommand {
 protected:
  std::string verdict_of(const std::string& shape, const std::vector<std::string>& faults,
                         const std::string& host, const char* kind = "roce") {
    std::ofstream(here("fabric.yaml"))
        << "fabric: f\nkind: " << kind << "\nclos: {" << shape << ", link: 400G}\n";
    std::vector<std::string> words{here("fabric.yaml"), "--seed", "5", "--load", "none", "-o", "json"};
    for (const std::string& fault : faults) words.insert(words.end(), {"--fault", fault});
    std::ofstream(here("run.json")) << call(simulate_command, words).out;
    EXPECT_EQ(publish({here("run.json")}).status, 0);
    return ask({"--host", host}).out;
  }
};

TEST_F(GateOfASweep, AHostAllOfWhosePacketsMetOtherFaultsIsNotCalledHealthy) {
  // Its peers are dead and its leaf is cut off: nothing of what it sent could tell.
  for (const char* fault : {"loss=100%", "loss=20%", "mtu=2048", "delay=5ms"})
    EXPECT_THAT(verdict_of("leaves: 2, spines: 1, hosts_per_leaf: 4",
                           {"host5--leaf2:down", "host7--leaf2:loss=100%", "leaf2--spine1:down",
                            std::string("host6--leaf2:") + fault},
                           "host6"),
                Not(StartsWith("healthy")))
        << fault;
  for (const char* host : {"host1", "host2"})
    EXPECT_THAT(verdict_of("pods: 2, leaves: 2, spines: 1, cores: 1, hosts_per_leaf: 2",
                           {"host1--leaf1:loss=80%", "host2--leaf1:loss=80%"}, host),
                Not(StartsWith("healthy")));
  EXPECT_THAT(verdict_of("leaves: 4, spines: 4, hosts_per_leaf: 4",
                         {"leaf1--spine1:down", "host3--leaf1:loss=5%"}, "host1"),
              StartsWith("healthy"));
}

TEST_F(GateOfASweep, NoHostIsCalledHealthyWhereTheRunCouldTellNothingOfDelays) {
  EXPECT_THAT(verdict_of("leaves: 2, spines: 1, hosts_per_leaf: 3",
                         {"host4--leaf2:loss=100%,from=leaf2", "host5--leaf2:delay=20ms",
                          "leaf2--spine1:loss=100%,from=spine1"},
                         "host5", "infiniband"),
              Not(StartsWith("healthy")));
}

TEST_F(GateOfASweep, AHostThatAnOpenSetMayNotNameIsNotRefused) {
  EXPECT_THAT(verdict_of("leaves: 3, spines: 1, hosts_per_leaf: 2",
                         {"host3--leaf2:mtu=2048", "leaf2--spine1:down"}, "host4"),
              StartsWith("unknown"));
}

TEST_F(GateCommand, SaysTheVerdictOfAHostAndRefusesOnlyWhereItIsAsked) {
  save_run(std::chrono::hours(1));
  const auto published = publish({here("run.json")});
  EXPECT_EQ(published.status, 0) << published.err;
  EXPECT_THAT(published.out, HasSubstr("14 healthy, 1 degraded, 1 failed, of"));
  auto said = ask({"--host", "host1"});
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(said.out, "failed host1: down\n");
  EXPECT_EQ(ask({"--host", "host1", "--refuse", "failed"}).status, 2);
  EXPECT_EQ(ask({"--host", "host2", "--refuse", "failed"}).status, 0);
  EXPECT_EQ(ask({"--host", "host2", "--refuse", "degraded"}).status, 1);
  EXPECT_EQ(ask({"--host", "host3", "--refuse", "degraded"}).out, "healthy nothing found\n");
  EXPECT_EQ(ask({"--host", "host99", "--refuse", "failed"}).status, 0);
  setenv("SLURMD_NODENAME", "host1", 1);
  EXPECT_EQ(ask({"--refuse", "failed"}).status, 2);
}

TEST_F(GateCommand, AFileThatIsOldOrAbsentOrNoneRefusesNobody) {
  const auto refuses = [&](std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--host", "host1", "--refuse", "failed"});
    const auto said = ask(more);
    EXPECT_THAT(said.out, said.status == 0 ? StartsWith("unknown ") : StartsWith("failed "));
    return said.status == 2;
  };
  EXPECT_FALSE(refuses()) << "absent";
  save_run(std::chrono::hours(3));
  ASSERT_EQ(publish({here("run.json")}).status, 0);
  EXPECT_TRUE(refuses());
  EXPECT_FALSE(refuses({"--max-age", "2h"})) << "as old as the run, not as the file";
  std::filesystem::resize_file(here("gate"), 100);
  EXPECT_FALSE(refuses()) << "a part";
  std::filesystem::remove(here("gate"));
  std::filesystem::create_directory(here("gate"));
  EXPECT_FALSE(refuses()) << "a folder";
  std::filesystem::remove(here("gate"));
  ASSERT_EQ(mkfifo(here("gate").c_str(), 0600), 0);
  EXPECT_FALSE(refuses()) << "a pipe to which nobody writes";
}

TEST_F(GateCommand, PublishesWhatALedgerTakesOutOfUse) {
  const auto added = call(blacklist_command, {"add", "host3", "--for", "4h", "--reason", "riser", "--ledger",
                                              here("bl.db"), "--fabric", here("fabric.yaml")});
  ASSERT_THAT(added.out, HasSubstr("activated")) << added.err;
  ASSERT_EQ(publish({"--ledger", here("bl.db")}).status, 0);
  const auto said = ask({"--host", "host3", "--refuse", "failed"});
  EXPECT_EQ(said.status, 2);
  EXPECT_EQ(said.out, "failed blacklist entry 1, host3: planned, riser\n");
  EXPECT_EQ(ask({"--host", "host4"}).out, "unknown not on the blacklist\n");
  save_run(std::chrono::hours(1));
  ASSERT_EQ(publish({here("run.json"), "--ledger", here("bl.db")}).status, 0);
  EXPECT_EQ(ask({"--host", "host3", "--refuse", "failed"}).status, 2);
  EXPECT_EQ(ask({"--host", "host4"}).out, "healthy nothing found\n");
  EXPECT_EQ(ask({"--host", "host1", "--refuse", "failed"}).status, 0) << "the ledger does not have it";
}

TEST_F(GateCommand, NoConfigurationDecidesOrIsWaitedFor) {
  save_run(std::chrono::hours(1));
  ASSERT_EQ(publish({here("run.json")}).status, 0);
  setenv("WEFT_HOST", "host3", 1);
  const auto said =
      call(run_whole, {"gate", "--file", here("gate"), "--host", "host1", "--refuse", "failed"});
  unsetenv("WEFT_HOST");
  EXPECT_EQ(said.status, 2);
  EXPECT_EQ(call(run_whole, {"gate", "--no-config"}).status, 64);
}

TEST_F(GateCommand, SaysWhatIsWrongWithItsWords) {
  save_run(std::chrono::hours(0));
  EXPECT_EQ(ask({"--refuse", "healthy"}).status, 64);
  EXPECT_EQ(ask({"--refuse", "unknown"}).status, 64);
  EXPECT_EQ(ask({"--max-age", "soon"}).status, 64);
  EXPECT_EQ(ask({"pblish"}).status, 64);
  EXPECT_THAT(publish({}).err, HasSubstr("DIAGNOSIS.json, --ledger FILE"));
  EXPECT_NE(publish({here("run.json"), "--ledger", here("bl.db")}).status, 0) << "there is no such ledger";
  EXPECT_EQ(call(gate_command, {"publish", here("run.json")}).status, 64);
  EXPECT_EQ(publish({here("absent.json")}).status, 64);
  EXPECT_FALSE(std::filesystem::exists(here("gate"))) << "nothing was written";
  const auto lost = call(gate_command, {"publish", here("run.json"), "--fabric", here("fabric.yaml"),
                                        "--file", here("no/gate")});
  EXPECT_NE(lost.status, 0);
  EXPECT_THAT(lost.err, HasSubstr("no/gate"));
}

}  // namespace
}  // namespace weft::cli
