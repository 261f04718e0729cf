// Whose fault it is that an agent is not heard: the host's only where it alone is silent. With a clock that
// the test makes up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "probes/session/coordinator_loop.hpp"
#include "probes/session/messages_json.hpp"
#include "tests/fakes/fake_script.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

const packet::RunSecrets kSecrets{RunId(7), {}};
const std::vector<std::string> kAll{"host1", "host2", "host3", "host4"};

/// Four hosts with one NIC each, at the time of the test's own clock.
class FourHosts {
 public:
  explicit FourHosts(int waves = 1) : script(nics(), waves) { keep(coordinator.start(now_)); }

  void says(const std::string& name, const ToCoordinator& message) {
    keep(coordinator.on_message(name, message, now_));
  }
  void joins(const std::string& name, Ready ready = {}) {
    says(name, Hello{.host = name});
    says(name, ready);
  }
  void all_join() {
    for (const auto& name : kAll) joins(name);
  }
  /// Ticks ten times a second; once a second these give signs of life.
  void time_passes(Nanoseconds span, const std::vector<std::string>& heard) {
    const TimePoint until = now_ + span;
    for (int tick = 0; now_ < until; ++tick) {
      now_ += milliseconds(100);
      if (tick % 10 == 0)
        for (const auto& name : heard) says(name, Alive{});
      keep(coordinator.on_tick(now_));
    }
  }
  /// This process does not run.
  void is_stopped(Nanoseconds span) { now_ += span; }
  void answers(const std::string& name) {
    says(name, TaskResult{.id = last_task_.at(name), .answer = std::vector<datapath::ReceivedTally>()});
  }
  std::string blamed() const {
    std::string text;
    for (const HostEvidence& evidence : script.blamed) text += name_of(evidence.host, evidence.text);
    return text;
  }
  std::string untested() const {
    std::string text;
    for (const NotTested& each : script.untested) text += name_of(each.host, each.why);
    return text;
  }

 private:
  std::vector<PortId> nics() const { return {fabric_.nics().begin(), fabric_.nics().end()}; }
  std::string name_of(NodeId host, const std::string& text) const {
    return fabric_.name_of(host) + ": " + text + "\n";
  }
  std::vector<ExpectedHost> expected() const {
    std::vector<ExpectedHost> hosts;
    for (const PortId nic : fabric_.nics()) hosts.push_back({fabric_.port(nic).node, {{"p1", nic}}});
    return hosts;
  }
  void keep(const Coordinator::Actions& actions) {
    for (const CoordinatorAction& action : actions)
      if (const auto* sent = std::get_if<SendToAgent>(&action))
        if (const auto* task = std::get_if<Task>(&sent->message)) last_task_[sent->host] = task->id;
  }

  Fabric fabric_ = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 2}).value();
  TimePoint now_{};
  std::map<std::string, TaskId> last_task_;

 public:
  fakes::FakeScript script;
  Coordinator coordinator{fabric_, script, kSecrets, expected()};
};

TEST(WhoseFault, AHostThatFallsSilentAloneIsBlamed) {
  FourHosts run;
  run.all_join();
  for (const auto& name : {"host2", "host3", "host4"}) run.answers(name);
  run.time_passes(seconds(8), {"host2", "host3", "host4"});
  EXPECT_EQ(run.blamed(), "host1: its agent fell silent while asking\n");
}

TEST(WhoseFault, SomeSilentAtOnceWhileTheOthersWorkAreNotTestedEach) {
  FourHosts run(2);
  run.all_join();
  for (const auto& name : kAll) run.answers(name);
  for (const auto& name : {"host3", "host4"}) run.answers(name);
  run.time_passes(seconds(8), {"host3", "host4"});
  EXPECT_EQ(run.blamed(), "");
  EXPECT_THAT(run.untested(), HasSubstr("host1: 2 agents fell silent at once"));
  EXPECT_THAT(run.untested(), HasSubstr("host2: 2 agents fell silent at once"));
  EXPECT_TRUE(run.coordinator.is_done());
  EXPECT_TRUE(run.coordinator.outcome());
}

TEST(WhoseFault, ACoordinatorThatWasStoppedBlamesNobodyAndGoesOn) {
  for (const int pause : {2, 6, 60}) {
    FourHosts run(2);
    run.all_join();
    run.time_passes(seconds(1), kAll);
    run.is_stopped(seconds(pause));
    run.time_passes(seconds(1), {});  // what they said meanwhile is still under way
    for (const auto& name : kAll) run.answers(name);
    run.time_passes(seconds(1), kAll);
    for (const auto& name : kAll) run.answers(name);
    EXPECT_TRUE(run.coordinator.is_done()) << pause;
    EXPECT_EQ(run.script.answered, 8) << pause;
    EXPECT_EQ(run.blamed() + run.untested(), "") << pause;
    EXPECT_GE(run.script.pauses, 1) << pause;
  }
}

TEST(WhoseFault, ACoordinatorThatWasStoppedWhileItGatheredWaitsOn) {
  FourHosts run;
  run.joins("host1");
  run.time_passes(seconds(1), {"host1"});
  run.is_stopped(seconds(30));
  run.time_passes(seconds(1), {"host1"});
  for (const auto& name : {"host2", "host3", "host4"}) run.joins(name);
  for (const auto& name : kAll) run.answers(name);
  EXPECT_EQ(run.script.answered, 4);
  EXPECT_EQ(run.untested(), "");
}

TEST(WhoseFault, ABusThatIsSilentForAWhileBlamesNobodyAndTheRunGoesOn) {
  for (const int silence : {3, 5, 8, 11}) {
    FourHosts run(2);
    run.all_join();
    run.time_passes(seconds(silence), {});
    run.time_passes(milliseconds(200), {"host3"});
    run.time_passes(seconds(1), kAll);
    for (const auto& name : kAll) run.answers(name);
    run.time_passes(seconds(1), kAll);
    for (const auto& name : kAll) run.answers(name);
    EXPECT_TRUE(run.coordinator.is_done()) << silence;
    EXPECT_EQ(run.script.answered, 8) << silence;
    EXPECT_EQ(run.blamed() + run.untested(), "") << silence;
  }
}

TEST(WhoseFault, ABusThatStaysSilentEndsTheRunAndWhatIsKnownIsKept) {
  FourHosts run(2);
  run.all_join();
  for (const auto& name : kAll) run.answers(name);
  run.time_passes(seconds(20), {});
  EXPECT_TRUE(run.coordinator.is_done());
  EXPECT_TRUE(run.coordinator.outcome());
  EXPECT_EQ(run.blamed() + run.untested(), "");
  EXPECT_THAT(run.script.ended_by, HasSubstr("the bus"));
}

TEST(WhoseFault, ALostBusIsAnErrorForAScriptThatHasNoUseForAPart) {
  FourHosts run;
  run.script.keeps_a_part = false;
  run.all_join();
  (void)run.coordinator.lose_bus("the connection is lost");
  EXPECT_TRUE(run.coordinator.is_done());
  ASSERT_FALSE(run.coordinator.outcome());
  EXPECT_EQ(run.coordinator.outcome().error().message, "the connection is lost");
  EXPECT_EQ(run.blamed() + run.untested(), "");
}

TEST(WhoseFault, AfterTheBusCameBackAHostThatStaysAwayIsBlamedAlone) {
  FourHosts run;
  run.all_join();
  run.time_passes(seconds(8), {});
  for (const auto& name : {"host2", "host3", "host4"}) run.answers(name);
  run.time_passes(seconds(5), {"host2", "host3", "host4"});
  EXPECT_EQ(run.blamed(), "") << "it has as long as ever from there";
  run.time_passes(seconds(5), {"host2", "host3", "host4"});
  EXPECT_EQ(run.blamed(), "host1: its agent fell silent while asking\n");
}

TEST(WhoseFault, AnAgentThatLivesAndDoesNotFinishIsBlamedAlone) {
  FourHosts run;
  run.all_join();
  for (const auto& name : {"host1", "host2", "host3"}) run.answers(name);
  run.time_passes(seconds(5), kAll);
  EXPECT_EQ(run.blamed(), "host4: its agent did not finish asking in time\n");
}

TEST(WhoseFault, AgentsThatLiveAndDoNotFinishAtOnceAreNotTested) {
  FourHosts run;
  run.all_join();
  for (const auto& name : {"host1", "host2"}) run.answers(name);
  run.time_passes(seconds(5), kAll);
  EXPECT_EQ(run.blamed(), "");
  EXPECT_EQ(run.untested(),
            "host3: its agent did not finish asking in time, nor did others\n"
            "host4: its agent did not finish asking in time, nor did others\n");
}

TEST(WhoseFault, TheLastOfSeveralThatDoNotFinishIsNotBlamedForAll) {
  FourHosts run;
  run.all_join();
  run.answers("host1");
  // host4 is not heard until the others are given up.
  run.time_passes(milliseconds(2900), kAll);
  run.time_passes(milliseconds(2500), {"host1", "host2", "host3"});
  run.time_passes(seconds(2), kAll);
  EXPECT_EQ(run.blamed(), "");
  EXPECT_THAT(run.untested(), HasSubstr("host4: its agent did not finish asking in time, nor did others"));
}

TEST(WhoseFault, ATaskThatCameLateOverASilentBusHasItsTimeFromThere) {
  FourHosts run;
  run.all_join();
  for (const auto& name : {"host1", "host2", "host3"}) run.answers(name);
  run.time_passes(seconds(5), {});
  run.time_passes(seconds(2), kAll);
  run.answers("host4");
  EXPECT_EQ(run.blamed() + run.untested(), "");
  EXPECT_EQ(run.script.answered, 4);
}

TEST(WhoseFault, WhatTheBusLostInAPauseIsNoHostsFault) {
  FourHosts run;
  run.all_join();
  run.time_passes(seconds(8), {});
  for (const auto& name : {"host1", "host2", "host3"}) run.answers(name);
  run.time_passes(seconds(13), kAll);
  EXPECT_EQ(run.blamed(), "");
  EXPECT_THAT(run.untested(), HasSubstr("host4: its agent did not finish"));
}

TEST(WhoseFault, AnAgentThatEndsWithItsOwnWordsIsNotTested) {
  FourHosts run;
  run.all_join();
  (void)run.coordinator.give_up("host2", "its agent ended: out of memory", TimePoint{});
  for (const auto& name : {"host1", "host3", "host4"}) run.answers(name);
  EXPECT_TRUE(run.coordinator.is_done());
  EXPECT_EQ(run.blamed(), "");
  EXPECT_EQ(run.untested(), "host2: its agent ended: out of memory\n");
}

TEST(WhoseFault, WhereEveryAgentEndsTheRunIsCutShort) {
  FourHosts run(3);
  run.all_join();
  for (const auto& name : kAll)
    (void)run.coordinator.give_up(name, "its agent ended: the coordinator is silent", TimePoint{});
  EXPECT_TRUE(run.coordinator.is_done());
  EXPECT_EQ(run.script.ended_by, "no agent is left; host4: its agent ended: the coordinator is silent");
  EXPECT_EQ(run.blamed(), "");
}

TEST(WhoseFault, ANicThatCannotBeOpenedForWantOfARightIsNotTestedOneThatIsDownIsAFinding) {
  FourHosts run;
  const auto& nics = run.script.nics();
  run.joins("host1", {{{nics[0], "needs CAP_NET_RAW", true}}});
  run.joins("host2", {{{nics[1], "p1 is down", false}}});
  run.joins("host3");
  run.joins("host4");
  EXPECT_EQ(run.untested(), "host1: needs CAP_NET_RAW\n");
  EXPECT_EQ(run.blamed(), "host2: p1 is down\n");
}

TEST(WhoseFault, WhereNoHostHasTheRightNobodyTookPart) {
  FourHosts run;
  const auto& nics = run.script.nics();
  for (std::size_t i = 0; i < kAll.size(); ++i) run.joins(kAll[i], {{{nics[i], "needs CAP_NET_RAW", true}}});
  EXPECT_TRUE(run.coordinator.is_done());
  ASSERT_FALSE(run.coordinator.outcome());
  EXPECT_EQ(run.coordinator.outcome().error().message, "none of 4 hosts took part; host1: needs CAP_NET_RAW");
}

/// A bus that gives some messages, then is lost.
class LostBus : public Bus {
 public:
  explicit LostBus(std::deque<Incoming> messages) : messages_(std::move(messages)) {}
  Result<void> send(std::string_view, std::string_view) override { return {}; }
  Result<std::vector<OutgoingMessage>> deliver(std::vector<OutgoingMessage>, Nanoseconds) override {
    return std::vector<OutgoingMessage>();
  }
  Result<std::optional<Incoming>> receive(Nanoseconds) override {
    if (messages_.empty()) return fail(ErrorKind::absent, "the connection is lost");
    std::optional<Incoming> first(std::move(messages_.front()));
    messages_.pop_front();
    return first;
  }

 private:
  std::deque<Incoming> messages_;
};

TEST(WhoseFault, ALostConnectionEndsARunThatBeganWithWhatIsKnown) {
  for (const bool began : {true, false}) {
    FourHosts run;
    std::deque<Incoming> messages;
    for (const auto& name : kAll) {
      messages.push_back({name, encode(MessageToCoordinator{std::nullopt, Hello{.host = name}})});
      if (began || name != "host4")
        messages.push_back({name, encode(MessageToCoordinator{kSecrets.run, Ready{}})});
    }
    LostBus bus(std::move(messages));
    const auto done = coordinate(bus, run.coordinator, [](const Progress&) {}, {});
    EXPECT_EQ(done.has_value(), began);
    EXPECT_EQ(run.script.ended_by, began ? "the connection is lost" : "");
    EXPECT_EQ(run.blamed() + run.untested(), "");
  }
}

}  // namespace
}  // namespace weft::session
