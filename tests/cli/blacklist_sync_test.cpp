// `weft blacklist sync, undo, check, adopt` as a user calls them, with a stand-in for scontrol.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <nlohmann/json.hpp>

#include "balancer/export/slurm_target.hpp"
#include "tests/cli/slurm_stand_in.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/schema.hpp"

namespace weft::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using BlacklistSync = SlurmStandIn;

TEST_F(BlacklistSync, ADryRunPrintsWhatItWouldDoAndDoesNothing) {
  add("host1");
  const auto outcome = sync({});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("put host1 (entry 1)"), HasSubstr("- in service"),
                                 HasSubstr("+ weft: planned host1 id=f:1 line card"),
                                 HasSubstr("undo: scontrol update NodeName=host1 State=UNDRAIN")));
  EXPECT_EQ(at("host1"), idle_);
  EXPECT_THAT(read("said"), Not(HasSubstr("update")));
  EXPECT_THAT(marks_of("1"), IsEmpty());
  const auto json = sync({"-o", "json"});
  expect_matches_schema(json.out, "changes");
  EXPECT_EQ(nlohmann::json::parse(json.out)["changes"][0]["object"], "host1");
  EXPECT_EQ(json.out.substr(json.out.find("\"changes\"")),
            sync({"-o", "json"}).out.substr(json.out.find("\"changes\"")))
      << "ids are stable";
}

TEST_F(BlacklistSync, WritesWhatStandsForPrometheus) {
  add("host1"), add("host2");
  node("host2", "ALLOCATED+DRAIN", "disk");
  EXPECT_EQ(sync({"--metrics-file", here("a.prom")}).status, 1) << "a dry run";
  EXPECT_THAT(read("a.prom"),
              AllOf(HasSubstr("weft_blacklist_pending_changes{fabric=\"f\",target=\"slurm\"} 1\n"),
                    HasSubstr("weft_blacklist_marks{fabric=\"f\",target=\"slurm\"} 0\n")));
  EXPECT_EQ(sync({"--apply", "--metrics-file", here("a.prom")}).status, 0);
  EXPECT_THAT(read("a.prom"),
              AllOf(HasSubstr("weft_blacklist_pending_changes{fabric=\"f\",target=\"slurm\"} 0\n"),
                    HasSubstr("weft_blacklist_marks{fabric=\"f\",target=\"slurm\"} 1\n"),
                    HasSubstr("weft_blacklist_left_alone{fabric=\"f\",target=\"slurm\"} 1\n")));
  const auto lost = sync({"--apply", "--metrics-file", here("no/a.prom")});
  EXPECT_EQ(lost.status, 0) << "what was done stands";
  EXPECT_THAT(lost.err, HasSubstr("--metrics-file: "));
  EXPECT_THAT(run({"update", "--metrics-file", here("b.prom")}).err, IsEmpty());
  EXPECT_THAT(read("b.prom"), HasSubstr("weft_blacklist_entries{fabric=\"f\",state=\"active\"} 2\n"));
}

TEST_F(BlacklistSync, DrainsWithTheReasonAndPutsBackWhatItDrainedAndNothingElse) {
  add("host1");
  node("host2", "ALLOCATED+DRAIN", "disk");
  const auto applied = sync();
  EXPECT_EQ(applied.status, 0) << applied.err;
  EXPECT_THAT(applied.out, HasSubstr("1 applied: slurm host1: weft: planned host1 id=f:1 line card"));
  EXPECT_EQ(at("host1"), fmt::format("IDLE+DRAIN|weft: planned host1 id=f:1 line card|{}", kFeatures));
  ASSERT_EQ(marks_of("1").size(), 1u);
  EXPECT_TRUE(marks_of("1")[0].contains("read_back"));
  EXPECT_EQ(sync({}).status, 0) << "it stands";
  EXPECT_EQ(sync({}).out, "");
  EXPECT_EQ(run({"check", "--to", "slurm"}).status, 0);
  run({"release", "1"});
  EXPECT_EQ(run({"check", "--to", "slurm"}).status, 1);
  const auto taken = sync();
  EXPECT_EQ(taken.status, 0) << taken.err;
  EXPECT_THAT(taken.out, HasSubstr("1 taken off: slurm host1: in service"));
  EXPECT_EQ(at("host1"), idle_);
  EXPECT_THAT(at("host2"), HasSubstr("DRAIN|disk"));
  EXPECT_THAT(read("said"), Not(HasSubstr("RESUME")));
  EXPECT_THAT(marks_of("1"), IsEmpty());
  EXPECT_THAT(run({"history"}).out, AllOf(HasSubstr("applied"), HasSubstr("taken off")));
}

TEST_F(BlacklistSync, AllHostsOfALeafAreDrainedInOneCall) {
  std::ofstream(here("fabric.yaml")) << "fabric: f\nclos: {leaves: 8, spines: 2, hosts_per_leaf: 2}\n";
  add("leaf1");
  EXPECT_EQ(sync().status, 0);
  EXPECT_THAT(
      read("said"),
      HasSubstr("update NodeName=host1,host2 State=DRAIN Reason=weft: planned leaf1 id=f:1 line card"));
}

TEST_F(BlacklistSync, LeavesAloneWhatIsOutOfServiceAndSaysSo) {
  int number = 0;
  for (const char* state :
       {"IDLE+DRAIN", "DOWN", "IDLE+FAIL", "IDLE+MAINTENANCE", "IDLE+REBOOT_ISSUED", "UNKNOWN"}) {
    const std::string reason = ++number % 2 == 0 ? "" : "disk";
    node("host1", state, reason);
    if (number == 1) add("host1");
    const auto outcome = sync();
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(fmt::format("host1: left alone: {}", state)));
    EXPECT_EQ(at("host1"), fmt::format("{}|{}|{}", state, reason, kFeatures));
    EXPECT_THAT(marks_of("1"), IsEmpty());
  }
  EXPECT_THAT(read("said"), Not(HasSubstr("update")));
}

TEST_F(BlacklistSync, NoticesAReasonThatIsSetBetweenItsReadingAndItsWriting) {
  add("host1");
  // The first call reads, the second asks for the rights, the third reads once more.
  hook("before", fmt::format("[ $call != 3 ] || printf 'IDLE+DRAIN\\nbob: disk\\n{}\\n{}\\n' > nodes/host1",
                             kFeatures, kFeatures));
  const auto outcome = sync();
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("not applied"), HasSubstr("bob: disk"), HasSubstr("left alone")));
  EXPECT_THAT(at("host1"), HasSubstr("IDLE+DRAIN|bob: disk"));
  EXPECT_THAT(marks_of("1"), IsEmpty());
}

TEST_F(BlacklistSync, RespectsAnOperatorWhoPutsANodeBack) {
  std::ofstream(here("fabric.yaml")) << "fabric: f\nclos: {leaves: 8, spines: 2, hosts_per_leaf: 2}\n";
  add("leaf1"), add("host1");
  ASSERT_EQ(sync().status, 0);
  node("host1", "IDLE", "");
  EXPECT_THAT(sync({}).out, AllOf(HasSubstr("entry 1 goes to hold"), HasSubstr("entry 2 goes to hold")));
  const auto outcome = sync();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("1 held: switch leaf1: somebody put host1 back at slurm"),
                                 HasSubstr("2 held"), HasSubstr("1 taken off: slurm host2: in service")));
  EXPECT_EQ(at("host1"), idle_);
  EXPECT_EQ(at("host2"), idle_) << "every mark of the entry is cleaned";
  EXPECT_EQ(sync().out, "");
  run({"approve", "2"});
  EXPECT_EQ(sync().status, 0);
  EXPECT_THAT(at("host1"), HasSubstr("IDLE+DRAIN|weft: planned host1"));
}

TEST_F(BlacklistSync, KeepsDownWhereANodeFellWhileItWasDrained) {
  add("host1");
  ASSERT_EQ(sync().status, 0);
  const auto reason = "weft: planned host1 id=f:1 line card";
  node("host1", "DOWN+DRAIN+NOT_RESPONDING", reason);
  EXPECT_EQ(sync().out, "");
  run({"release", "1"});
  EXPECT_EQ(sync().status, 0);
  EXPECT_THAT(at("host1"), AllOf(HasSubstr("DOWN"), Not(HasSubstr("DRAIN"))));
  EXPECT_THAT(marks_of("1"), IsEmpty());
}

TEST_F(BlacklistSync, ANodeThatSomebodyTookOverIsTheirsFromThenOn) {
  add("host1");
  ASSERT_EQ(sync().status, 0);
  node("host1", "IDLE+DRAIN", "bob: disk");
  EXPECT_THAT(sync().err, HasSubstr("left alone: IDLE+DRAIN: bob: disk"));
  run({"release", "1"});
  EXPECT_EQ(sync().out, "");
  EXPECT_THAT(at("host1"), HasSubstr("bob: disk"));
}

TEST_F(BlacklistSync, TwoEntriesOfOneHostShareItsMark) {
  add("host1"), add("host1/p1", "cable");
  ASSERT_EQ(sync().status, 0);
  EXPECT_THAT(at("host1"), HasSubstr("id=f:1"));
  run({"release", "1"});
  EXPECT_EQ(sync().status, 0);
  EXPECT_THAT(at("host1"), HasSubstr("IDLE+DRAIN|weft: planned host1--leaf1 id=f:2 cable"))
      << "it never came back";
  EXPECT_THAT(marks_of("1"), IsEmpty());
  EXPECT_EQ(marks_of("2")[0]["before"], "in service");
  run({"release", "2"});
  EXPECT_EQ(sync().status, 0);
  EXPECT_EQ(at("host1"), idle_);
}

TEST_F(BlacklistSync, ARailIsAFeatureThatIsAssertedAgainAndPutBackAsItWas) {
  ASSERT_EQ(run({"add", "host1/p1", "--for", "4h", "--reason", "optics", "--nic", "rail"}).status, 0);
  const std::vector<std::string> rail{"--nic", "rail", "--apply"};
  EXPECT_EQ(sync(rail).status, 0);
  EXPECT_EQ(at("host1"), "IDLE||big");
  EXPECT_EQ(sync(rail).out, "");
  node("host1", "IDLE", "");  // a reconfigure
  EXPECT_EQ(sync(rail).status, 0);
  EXPECT_EQ(at("host1"), "IDLE||big");
  run({"release", "1"});
  EXPECT_EQ(sync(rail).status, 0);
  EXPECT_EQ(at("host1"), idle_);
  EXPECT_THAT(marks_of("1"), IsEmpty());
}

TEST_F(BlacklistSync, AFeatureThatSomebodyElseTookOffStaysOff) {
  node("host1", "IDLE", "", "big");
  ASSERT_EQ(run({"add", "host1/p1", "--for", "4h", "--reason", "optics", "--nic", "rail"}).status, 0);
  const std::vector<std::string> rail{"--nic", "rail", "--apply"};
  EXPECT_THAT(sync(rail).err, HasSubstr("off already, and not by weft"));
  run({"release", "1"});
  EXPECT_EQ(sync(rail).out, "");
  EXPECT_EQ(at("host1"), "IDLE||big");
}

TEST_F(BlacklistSync, OfAListThatIsAppliedInPartWhatIsReadBackCounts) {
  std::ofstream(here("fabric.yaml")) << "fabric: f\nclos: {leaves: 8, spines: 2, hosts_per_leaf: 2}\n";
  add("leaf1");
  hook("after",
       fmt::format("case $words in *NodeName=host1,host2*) printf 'IDLE\\n\\n{0}\\n{0}\\n' > nodes/host2; "
                   "echo 'slurm_update error: busy' >&2; exit 1;; esac",
                   kFeatures));
  const auto outcome = sync();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("1 applied: slurm host1"), HasSubstr("1 not applied: slurm host2"),
                                 HasSubstr("slurm_update error: busy")));
  EXPECT_EQ(marks_of("1").size(), 1u);
  unhook();
  EXPECT_EQ(sync().status, 0) << "and the rest comes next time";
  EXPECT_THAT(at("host2"), HasSubstr("DRAIN|weft"));
}

TEST_F(BlacklistSync, WithoutTheRightToDrainNothingIsChangedAtAll) {
  add("host1");
  std::ofstream(here("refused")) << "";
  const auto outcome = sync();
  EXPECT_EQ(outcome.status, 69);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("may not change nodes"), HasSubstr("nothing was changed")));
  EXPECT_THAT(read("said"), Not(HasSubstr("host1 State")));
  EXPECT_THAT(marks_of("1"), IsEmpty());
}

TEST_F(BlacklistSync, ACallThatHangsIsEndedAndTheNextRunFindsOut) {
  add("host1");
  hook("after", "case $words in *State=DRAIN*) exec sleep 60;; esac");
  const auto outcome = sync({"--apply", "--call-limit", "1s"});
  EXPECT_EQ(outcome.status, 0) << "the drain came, and was read back" << outcome.err;
  EXPECT_THAT(marks_of("1")[0].dump(), HasSubstr("read_back"));
  hook("before", "exec sleep 60");
  run({"release", "1"});
  const auto dead = sync({"--apply", "--call-limit", "1s"});
  EXPECT_EQ(dead.status, 69);
  EXPECT_THAT(dead.err, HasSubstr("did not end within 1s"));
  unhook();
  EXPECT_EQ(sync().status, 0);
  EXPECT_EQ(at("host1"), idle_);
}

TEST_F(BlacklistSync, OfAnAnswerWithoutANodeNothingIsConcluded) {
  add("host1");
  ASSERT_EQ(sync().status, 0);
  for (const char* script : {"exit 0", "echo 'slurm_load_node: no nodes'; exit 0"}) {
    hook("before", script);
    const auto outcome = sync();
    EXPECT_EQ(outcome.status, 69) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("shows no node at all"));
    EXPECT_EQ(marks_of("1").size(), 1u);
  }
  unhook();
  EXPECT_EQ(run({"check", "--to", "slurm"}).status, 0);
}

TEST_F(BlacklistSync, GoesByTheRailsThatTheLedgerIsKeptBy) {
  EXPECT_EQ(run({"add", "host1/p1", "--for", "4h", "--reason", "optics", "--nic", "rail"}).status, 0);
  EXPECT_EQ(sync().status, 0);
  EXPECT_EQ(at("host1"), "IDLE||big") << "no host is drained, though --nic was not given again";
  const auto other = sync({"--nic", "host", "--apply"});
  EXPECT_EQ(other.status, 64);
  EXPECT_THAT(other.err, HasSubstr("the ledger is kept by rail"));
  EXPECT_EQ(at("host1"), "IDLE||big");
}

TEST_F(BlacklistSync, OneWriterAtATime) {
  add("host1");
  const int other = open(here("bl.db.sync").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  const auto outcome = sync();
  EXPECT_EQ(outcome.status, 69);
  EXPECT_THAT(outcome.err, HasSubstr("another weft is applying this blacklist"));
  EXPECT_EQ(at("host1"), idle_);
  close(other);
  EXPECT_EQ(sync().status, 0);
}

TEST_F(BlacklistSync, CountsWhatOthersDrainedForTheCap) {
  for (const char* name : {"host13", "host14", "host15", "host16"}) node(name, "DOWN", "psu");
  add("host1");
  const auto outcome = sync();
  EXPECT_THAT(outcome.err,
              HasSubstr("host1: held back, with what others took out of use: hosts: 5 of 16 would be "
                        "out of use, 4 may be"));
  EXPECT_EQ(at("host1"), idle_);
  node("host16", "IDLE", "");
  EXPECT_EQ(sync().status, 0);
  EXPECT_THAT(at("host1"), HasSubstr("DRAIN"));
}

TEST_F(BlacklistSync, UndoTakesTheMarksOffAndHoldsTheEntry) {
  add("host1"), add("host2");
  ASSERT_EQ(sync().status, 0);
  const auto dry = run({"undo", "1", "--to", "slurm"});
  EXPECT_EQ(dry.status, 1);
  EXPECT_THAT(dry.out, AllOf(HasSubstr("take host1"), Not(HasSubstr("host2"))));
  EXPECT_THAT(at("host1"), HasSubstr("DRAIN"));
  EXPECT_EQ(run({"undo", "1", "--to", "slurm", "--apply", "-o", "json"}).status, 64);
  EXPECT_THAT(at("host1"), HasSubstr("DRAIN"));
  add("host3");
  EXPECT_EQ(run({"undo", "1", "--to", "slurm", "--apply"}).status, 0);
  EXPECT_EQ(at("host3"), idle_) << "an undo puts nothing";
  EXPECT_EQ(run({"release", "3"}).status, 0);
  EXPECT_EQ(at("host1"), idle_);
  EXPECT_THAT(at("host2"), HasSubstr("DRAIN"));
  EXPECT_EQ(sync().out, "") << "it is held";
}

TEST_F(BlacklistSync, AMarkThatTheLedgerDoesNotKnowIsAnOrphanThatCanBeAdopted) {
  node("host3", "IDLE+DRAIN", "weft: degraded host3--leaf1 id=f:77 31 of 1,790 lost");
  node("host4", "IDLE+DRAIN", "weft: degraded host4--leaf1 id=other:1 of another fabric");
  node("host5", "IDLE+DRAIN", "weft: degraded host5--leaf1 id=f:9999999999999999999999");
  add("host1");
  const auto checked = run({"check", "--to", "slurm"});
  EXPECT_EQ(checked.status, 1);
  EXPECT_THAT(checked.err, AllOf(HasSubstr("weft blacklist adopt host3"), Not(HasSubstr("host4")),
                                 Not(HasSubstr("host5"))));
  ASSERT_EQ(sync().status, 0);
  EXPECT_THAT(at("host3"), HasSubstr("id=f:77")) << "left alone";
  EXPECT_EQ(run({"adopt", "host4", "--to", "slurm", "--apply"}).status, 64);
  EXPECT_EQ(run({"adopt", "host3", "--to", "slurm", "--apply", "-o", "json"}).status, 64);
  EXPECT_EQ(run({"adopt", "host3", "--to", "slurm"}).status, 1);
  EXPECT_THAT(at("host3"), HasSubstr("id=f:77"));
  const auto adopted = run({"adopt", "host3", "--to", "slurm", "--apply"});
  EXPECT_EQ(adopted.status, 0) << adopted.err;
  EXPECT_THAT(at("host3"),
              HasSubstr("IDLE+DRAIN|weft: planned host3 id=f:2 adopted: weft: degraded host3--leaf1"));
  run({"release", "2"});
  EXPECT_EQ(sync().status, 0);
  EXPECT_EQ(at("host3"), idle_);
}

/// One scontrol reads the commands of a batch as lines; what a line cannot hold has a call of its own.
TEST_F(BlacklistSync, ReasonsThatDifferAreSetAsTheyAreWhoeverReadsThem) {
  const std::vector<std::string> reasons{"it's $HOME; 3 > 2 #c !e", "so \"named\"", "back\\slash",
                                         "Stra\u00dfe"};
  for (std::size_t i = 0; i < 4; ++i) add(fmt::format("host{}", i + 1), reasons[i]);
  const auto synced = sync();
  EXPECT_EQ(synced.status, 0) << synced.err << synced.out;
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_THAT(at(fmt::format("host{}", i + 1)),
                HasSubstr(fmt::format("IDLE+DRAIN|weft: planned host{0} id=f:{0} ", i + 1)));
  EXPECT_THAT(at("host1"), HasSubstr(reasons[0]));
  EXPECT_THAT(at("host2"), HasSubstr("so 'named'"));
  EXPECT_THAT(at("host3"), HasSubstr(reasons[2]));
  EXPECT_EQ(run({"check", "--to", "slurm"}).status, 0) << run({"check", "--to", "slurm"}).out;
}

TEST_F(BlacklistSync, AScontrolThatReadsNoLinesSetsFeaturesToo) {
  node("host2", "IDLE", "", "weft_rail1_ok");  // another list than that of host1
  std::ofstream(here("no_lines")) << "";
  std::vector<exports::Change> changes;
  for (const char* host : {"host1", "host2"})
    changes.push_back({.act = exports::Act::put,
                       .target = "slurm",
                       .object = exports::feature_object(host, "weft_rail1_ok"),
                       .before = "active",
                       .set = "not active"});
  const auto applied = exports::SlurmTarget().apply(changes);
  EXPECT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(at("host1"), "IDLE||big");
  EXPECT_EQ(at("host2"), "IDLE||");
}

/// As sudo may let through: `scontrol WORDS`, and no lines.
TEST_F(BlacklistSync, AScontrolThatReadsNoLinesIsCalledForEach) {
  std::ofstream(here("no_lines")) << "";
  for (int host = 1; host <= 3; ++host) add(fmt::format("host{}", host), fmt::format("work {}", host));
  const auto synced = sync();
  EXPECT_EQ(synced.status, 0) << synced.err << synced.out;
  for (int host = 1; host <= 3; ++host)
    EXPECT_THAT(at(fmt::format("host{}", host)), HasSubstr(fmt::format("id=f:{0} work {0}", host)));
}

TEST_F(BlacklistSync, WhatASlowControllerLeftOfABatchIsSetByCallsOfItsOwn) {
  for (int host = 1; host <= 4; ++host) add(fmt::format("host{}", host), fmt::format("work {}", host));
  hook("before", "case $words in *DRAIN*) sleep 0.4;; esac");
  const auto slow = sync({"--apply", "--call-limit", "1s"});
  EXPECT_EQ(slow.status, 0) << slow.err << slow.out;
  EXPECT_THAT(at("host4"), HasSubstr("work 4"));
}

TEST_F(BlacklistSync, ANodeThatIsRefusedInABatchIsNamedByItsOwnError) {
  for (int host = 1; host <= 3; ++host) add(fmt::format("host{}", host), fmt::format("work {}", host));
  hook("before", "case $words in *NodeName=host2*) die 'slurm_update error: two';; esac");
  const auto one = sync();
  EXPECT_EQ(one.status, 1) << one.out;
  EXPECT_THAT(one.out + one.err, HasSubstr("NodeName=host2"));
  EXPECT_THAT(at("host3"), HasSubstr("work 3"));
}

/// Both it and weft: of a batch the first half is done.
TEST_F(BlacklistSync, AScontrolThatIsKilledInMidBatchLeavesTheRestToTheNextRun) {
  for (int host = 1; host <= 4; ++host) add(fmt::format("host{}", host), fmt::format("work {}", host));
  hook("before", "case $words in *host3*DRAIN*) kill -9 $PPID $$;; esac");
  EXPECT_TRUE(is_killed_in_sync());
  unhook();
  EXPECT_THAT(at("host1"), HasSubstr("DRAIN"));
  EXPECT_EQ(at("host4"), idle_);
  const auto next = sync();
  EXPECT_EQ(next.status, 0) << next.err << next.out;
  for (int host = 1; host <= 4; ++host)
    EXPECT_THAT(at(fmt::format("host{}", host)), HasSubstr(fmt::format("id=f:{0} work {0}", host)));
}

/// Killed by scontrol at each of its calls, before and after it does its work.
TEST_F(BlacklistSync, AKilledRunIsCompletedOrUndoneByTheNext) {
  int points = 0;
  for (const char* when : {"before", "after"})
    for (int dies_at = 1; dies_at <= 8; dies_at += kSanitized ? 3 : 1)
      for (const bool is_wanted : {true, false}) {
        SCOPED_TRACE(
            fmt::format("killed {} call {}, {}", when, dies_at, is_wanted ? "still wanted" : "released"));
        for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(here("bl.db") + end);
        node("host1", "IDLE+DRAIN", "weft: planned host1 id=f:1 work"), node("host2", "MIXED", "");
        unhook();
        // Entry 1 is to come off, entry 2 to be put.
        node("host1", "IDLE", "");
        add("host1", "work");
        ASSERT_EQ(sync().status, 0);
        run({"release", "1"});
        add("host2", "work");
        hook(when, fmt::format("[ $call != {} ] || kill -9 $PPID", dies_at));
        points += is_killed_in_sync() ? 1 : 0;
        unhook();
        if (!is_wanted) run({"release", "2"});
        const auto next = sync();
        EXPECT_EQ(next.status, 0) << next.err << next.out;
        EXPECT_THAT(next.out, Not(HasSubstr("held")));
        EXPECT_EQ(at("host1"), idle_);
        EXPECT_EQ(at("host2"), is_wanted
                                   ? fmt::format("MIXED+DRAIN|weft: planned host2 id=f:2 work|{}", kFeatures)
                                   : fmt::format("MIXED||{}", kFeatures));
        EXPECT_EQ(marks_of("2").size(), is_wanted ? 1u : 0u);
        EXPECT_EQ(run({"check", "--to", "slurm"}).status, 0);
      }
  EXPECT_GE(points, kSanitized ? 9 : 28) << "eight calls, before and after";
}

}  // namespace
}  // namespace weft::cli
