// `weft blacklist sync` to what programs of a site do: `--to exec:PROGRAM`, with the program that stands in
// docs/blacklist.md, and `--to cumulus --run PROGRAM`; and what a job is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/blacklist.hpp"
#include "tests/cli/site_program.hpp"
#include "tests/support/command.hpp"
#include "tests/support/test_lab.hpp"
#include "tests/support/text_of.hpp"

namespace weft::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// Of a program that marked nothing.
const std::string kAllInService = "sed 's/}$/,\"whose\":\"nobody\",\"text\":\"\"}/'\n";

class BlacklistExec : public testing::Test {
 protected:
  BlacklistExec() {
    std::ofstream(here("fabric.yaml"))
        << "fabric: f\nkind: roce\nclos: {leaves: 2, spines: 4, hosts_per_leaf: 8, link: 400G}\n";
    program(site_program(here("drains")));
  }
  std::string here(const std::string& name) const { return directory_.path() / name; }
  void program(const std::string& script) const { write_program(here("site"), script); }
  Outcome run(std::vector<std::string> words) const {
    words.insert(words.end(), {"--ledger", here("bl.db"), "--fabric", here("fabric.yaml")});
    return call(blacklist_command, words);
  }
  Outcome sync(const char* word = "sync", std::vector<std::string> more = {"--apply"}) const {
    more.insert(more.begin(), {word, "--to", "exec:" + here("site"), "--call-limit", "5s"});
    return run(more);
  }
  void add(const char* subject) const {
    const auto added = run({"add", subject, "--for", "4h", "--reason", "line card"});
    ASSERT_THAT(added.out, HasSubstr("activated")) << added.err << added.out;
  }
  nlohmann::json marks() const { return nlohmann::json::parse(text_of(here("drains/marks.json"))); }
  std::string mark(const std::string& object) const { return marks().value(object, "none"); }
  void set_mark(const std::string& object, const char* text) const {
    auto all = marks();
    text ? void(all[object] = text) : void(all.erase(object));
    std::ofstream(here("drains/marks.json")) << all;
  }

 private:
  TestDirectory directory_;
};

TEST_F(BlacklistExec, MarksHostsAndLinksAndTakesTheMarksOff) {
  add("host1"), add("leaf1--spine2");
  const auto dry = sync("sync", {});
  EXPECT_EQ(dry.status, 1) << dry.err;
  EXPECT_THAT(dry.out, AllOf(HasSubstr("put host1 (entry 1)"), HasSubstr("put leaf1--spine2 (entry 2)"),
                             HasSubstr("/site apply")));
  EXPECT_TRUE(marks().empty());
  const auto applied = sync();
  EXPECT_EQ(applied.status, 0) << applied.err;
  EXPECT_EQ(mark("host1"), "weft: planned host1 id=f:1 line card");
  EXPECT_EQ(mark("leaf1--spine2"), "weft: planned leaf1--spine2 id=f:2 line card");
  EXPECT_EQ(sync("check", {}).status, 0);
  ASSERT_EQ(run({"release", "2"}).status, 0);
  EXPECT_EQ(sync().status, 0);
  EXPECT_EQ(mark("leaf1--spine2"), "none");
  EXPECT_EQ(mark("host1"), "weft: planned host1 id=f:1 line card");
}

TEST_F(BlacklistExec, LeavesWhatOthersMarkedAlone) {
  add("host1"), add("host2");
  set_mark("host1", "disk");
  const auto applied = sync();
  EXPECT_THAT(applied.err, HasSubstr("host1: left alone: disk"));
  EXPECT_EQ(mark("host1"), "disk");
  EXPECT_THAT(mark("host2"), StartsWith("weft: "));
  set_mark("host2", nullptr);
  EXPECT_THAT(sync().out, HasSubstr("somebody put host2 back")) << "and it goes to hold";
  EXPECT_EQ(mark("host2"), "none");
}

TEST_F(BlacklistExec, SaysWhatIsKnownOfAProgramThatSaysNothing) {
  add("host1");
  program("#!/bin/sh\n[ $1 = apply ] && exit 3\n[ $1 = check ] || " + kAllInService);
  std::string said;  // wherever the page breaks its lines
  for (const char c : sync().out)
    if (c != ' ' && c != '\n') said += c;
  EXPECT_THAT(said, AllOf(HasSubstr("host1:nomarkstandsthere"), HasSubstr("(exitstatus3)andsaidnothing")));
  program("#!/bin/sh\n[ $1 = check ] || sed 's/}$/,\"whose\":\"others\",\"text\":\"\"}/'\n");
  EXPECT_THAT(sync().err, HasSubstr("host1: left alone: the program says no more of it"));
}

TEST_F(BlacklistExec, SaysWhatIsWrongWithAProgramAndChangesNothing) {
  add("host1");
  const auto says = [&](const std::string& script) {
    program("#!/bin/sh\n" + script);
    const auto outcome = sync();
    EXPECT_NE(outcome.status, 0) << script;
    return outcome.err;
  };
  EXPECT_THAT(says("echo 'no such thing' >&2; exit 3"), HasSubstr("no such thing"));
  EXPECT_THAT(says("[ $1 = check ] && { echo 'not root' >&2; exit 1; }\n" + kAllInService),
              HasSubstr("not root"));
  EXPECT_THAT(says("exit 0"), HasSubstr("the program's answer has no line of"));
  EXPECT_THAT(says("yes"), HasSubstr("wrote more than"));
  EXPECT_THAT(says("sleep 60"), HasSubstr("did not end within"));
  EXPECT_THAT(says("echo nonsense"), HasSubstr("line 1 of the program's answer"));
  EXPECT_THAT(says("echo '{\"object\":\"host99\",\"whose\":\"nobody\",\"text\":\"\"}'"),
              HasSubstr("was not asked for"));
  EXPECT_THAT(says("echo '{\"object\":\"host1\",\"whose\":\"me\",\"text\":\"\"}'"),
              HasSubstr("expected nobody, weft, others or absent"));
  std::filesystem::remove(here("site"));
  EXPECT_EQ(sync().status, 69);
  EXPECT_EQ(run({"sync", "--to", "exec:"}).status, 64) << "no program is named";
  EXPECT_TRUE(marks().empty());
}

TEST_F(BlacklistExec, AShortAnswerForgetsNoMark) {
  add("host1");
  ASSERT_EQ(sync().status, 0);
  program("#!/bin/sh\nexit 0\n");
  EXPECT_EQ(sync().status, 64);
  EXPECT_THAT(run({"list", "-o", "json"}).out, HasSubstr("\"object\":\"host1\""))
      << "its mark is still known";
}

TEST_F(BlacklistExec, TwoProgramsHaveTwoSetsOfMarks) {
  add("host1");
  ASSERT_EQ(sync().status, 0);
  std::ofstream(here("other")) << "#!/bin/sh\n" << kAllInService;
  std::filesystem::permissions(here("other"), std::filesystem::perms::owner_all);
  const auto other = run({"sync", "--to", "exec:" + here("other")});
  EXPECT_THAT(other.out, HasSubstr("put host1 (entry 1)")) << "nobody put it back: it was never there";
}

TEST_F(BlacklistExec, WhatAProgramBeganBeforeItWasEndedIsCompletedByTheNext) {
  add("host1");
  const auto good = text_of(here("site"));
  // It does the work in a process of a session of its own, long after its time is over.
  program(good.substr(0, good.find("case $1")) + "[ $1 != apply ] || { echo x > late; sleep 60; }\n" +
          good.substr(good.find("case $1")));
  const auto applied = run({"sync", "--to", "exec:" + here("site"), "--call-limit", "5s", "--apply"});
  EXPECT_NE(applied.status, 0);
  EXPECT_TRUE(std::filesystem::exists(here("drains/late")));
  set_mark("host1", "weft: planned host1 id=f:1 line card");
  program(good);
  EXPECT_EQ(sync().status, 0);
  EXPECT_EQ(sync("check", {}).status, 0) << "its intent stood in the ledger, and is closed";
  ASSERT_EQ(run({"release", "1"}).status, 0);
  EXPECT_EQ(sync().status, 0);
  EXPECT_EQ(mark("host1"), "none");
}

TEST_F(BlacklistExec, WhatAProgramLeftBehindInASessionOfItsOwnMarksNothingLate) {
  add("host1");
  const auto good = text_of(here("site"));
  // Instead of the work itself it starts what does it later.
  program(good.substr(0, good.find("case $1")) +
          "[ $1 != apply ] || { setsid -f sh -c 'echo x > begun; sleep 2; echo x > late'; exit 0; }\n" +
          good.substr(good.find("case $1")));
  EXPECT_EQ(sync().status, 1) << "no mark stands there";
  sleep(3);
  EXPECT_FALSE(std::filesystem::exists(here("drains/late")));
}

/// The program of the page, that says `times` times of a host that nobody has it.
std::string one_that_lies(std::string good, int times) {
  const std::string read = "read) ";
  return good.replace(good.find(read), read.size(),
                      fmt::format("read) [ -e lies ] || echo {} >lies; n=$(cat lies); "
                                  "[ $n = 0 ] || {{ echo $((n-1)) >lies; {} exit 0; }}; ",
                                  times, kAllInService.substr(0, kAllInService.size() - 1) + ";"));
}

TEST_F(BlacklistExec, OneFalseAnswerChangesNothing) {
  add("host1");
  ASSERT_EQ(sync().status, 0);
  program(one_that_lies(text_of(here("site")), 1));
  const auto applied = sync();
  EXPECT_EQ(applied.status, 0) << applied.err;
  EXPECT_EQ(applied.out, "");
  EXPECT_THAT(run({"list"}).out, HasSubstr("active"));
  EXPECT_THAT(mark("host1"), StartsWith("weft: "));
}

TEST_F(BlacklistExec, AMarkOfOursIsOursWhateverWasSaidOfItInBetween) {
  const auto good = text_of(here("site"));
  add("host1"), add("leaf1--spine2");
  ASSERT_EQ(sync().status, 0);
  program(one_that_lies(good, 2));
  EXPECT_THAT(sync().out, HasSubstr("somebody put host1 back")) << "so it says, twice";
  EXPECT_THAT(mark("host1"), StartsWith("weft: ")) << "which is not so";
  program(good);
  const auto found = sync();
  EXPECT_EQ(found.status, 0) << found.err;
  EXPECT_EQ(found.err, "") << "no stranger's mark";
  EXPECT_EQ(mark("host1"), "none") << "its entry is held, so it is taken off";
  EXPECT_EQ(mark("leaf1--spine2"), "none");
  EXPECT_EQ(sync("check", {}).status, 0);
}

TEST_F(BlacklistExec, UndoFindsAMarkThatWasForgotten) {
  const auto good = text_of(here("site"));
  add("host1");
  ASSERT_EQ(sync().status, 0);
  program(one_that_lies(good, 2));
  ASSERT_THAT(sync().out, HasSubstr("somebody put host1 back"));
  program(good);
  const auto undone = sync("undo", {"1", "--apply"});
  EXPECT_EQ(undone.status, 0) << undone.err;
  EXPECT_EQ(mark("host1"), "none");
}

class BlacklistPorts : public BlacklistExec {
 protected:
  BlacklistPorts() {
    std::ofstream(here("fabric.yaml"))
        << "fabric: f\nnodes: [{name: host1, kind: host}, {name: host2, kind: host},\n"
           "  {name: leaf1, kind: switch, tier: leaf}, {name: leaf2, kind: switch, tier: leaf}]\n"
           "links: [{a: host1, b: leaf1}, {a: host2, b: leaf2},\n"
           "  {a: leaf1/swp1, b: leaf2/swp9}, {a: leaf1/swp2, b: leaf2/swp8},\n"
           "  {a: leaf1/swp3, b: leaf2/swp7}, {a: leaf1/swp4, b: leaf2/swp6}]\n";
    std::filesystem::remove(here("drains/marks.json"));
    program("#!/bin/sh\ncp \"$2\" " + here("given-to-") + "\"$1\"\n");
  }
  Outcome ports(std::vector<std::string> more) const {
    more.insert(more.begin(), {"sync", "--to", "cumulus", "--run", here("site")});
    return run(more);
  }
};

TEST_F(BlacklistPorts, AreShutByTheProgramThatIsGivenTheLinesOfASwitch) {
  add("leaf1/swp2--leaf2/swp8");
  const auto dry = ports({"--dir", here("drains"), "--new-dir"});
  EXPECT_EQ(dry.status, 1) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("undo: on leaf1: nv set interface swp2 link state up"));
  EXPECT_FALSE(std::filesystem::exists(here("given-to-leaf1")));
  const auto applied = ports({"--dir", here("drains"), "--new-dir", "--apply"});
  EXPECT_EQ(applied.status, 0) << applied.err;
  EXPECT_EQ(text_of(here("given-to-leaf1")), "nv set interface swp2 link state down\nnv config apply -y\n");
}

TEST_F(BlacklistPorts, WordsThatDoNotGoTogetherAreRefused) {
  add("leaf1/swp2--leaf2/swp8");
  EXPECT_THAT(ports({}).err, HasSubstr("expected --dir DIR"));
  EXPECT_THAT(ports({"--dir", here("nowhere"), "--apply"}).err,
              HasSubstr("nowhere/marks.json: there is no such file of marks"));
  EXPECT_THAT(run({"sync", "--to", "CUMULUS", "--run", "x"}).err,
              HasSubstr("--to CUMULUS: expected slurm, "));
  EXPECT_THAT(run({"sync", "--to", "exec:"}).err, HasSubstr("--to exec:: expected slurm, "));
  EXPECT_THAT(run({"sync", "--to", "slurm", "--run", "x"}).err,
              HasSubstr("--run is of --to sonic and cumulus"));
  EXPECT_THAT(run({"sync", "--to", "sonic", "--dir", here("drains"), "--device", "mlx5_0"}).err,
              HasSubstr("--device is of --to opensm"));
}

TEST_F(BlacklistExec, AJobIsToldWhichAdaptersToDoWithout) {
  std::ofstream(here("fabric.yaml"), std::ios::trunc)
      << "fabric: f\nrails: {groups: 4, hosts_per_group: 8, rails: 4, spines: 2, link: 400G}\n";
  const auto env = [&](std::vector<std::string> more) {
    more.insert(more.begin(), "env");
    return run(more);
  };
  EXPECT_EQ(run({"add", "host3/p2", "--for", "4h", "--reason", "x", "--nic", "rail"}).status, 0);
  const auto job = env({"--hosts", "host[1-4]", "--hca", "mlx5_[0-3]"});
  EXPECT_EQ(job.status, 0) << job.err;
  EXPECT_EQ(job.out, "NCCL_IB_HCA=^=mlx5_1:1\n");
  EXPECT_THAT(job.err, HasSubstr("without the rail of host3/p2"));
  EXPECT_EQ(env({"--hosts", "host1,host2", "--hca", "mlx5_[0-3]"}).out, "");
  EXPECT_EQ(env({"--hosts", "host3"}).status, 64) << "nobody says which adapter that is";
  EXPECT_EQ(env({}).status, 64);
  EXPECT_EQ(run({"add", "host1", "--for", "4h", "--reason", "x"}).status, 0);
  const auto out = env({"--hosts", "host1,host2"});
  EXPECT_EQ(out.status, 1);
  EXPECT_THAT(out.err, HasSubstr("host1 is out of use as a whole"));
}

}  // namespace
}  // namespace weft::cli
