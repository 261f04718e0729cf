// What a coordinator waits for, with times that the test makes up: the tasks of a wave and the questions that
// engines ask each other, and when it is the bus that is silent.
#include "probes/session/outstanding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr TimePoint kBegin{std::chrono::hours(5)};
constexpr auto kGrace = seconds(2);

/// Four hosts of one NIC each, at work and heard at kBegin.
struct FourHosts {
  FourHosts() { hear({"host1", "host2", "host3", "host4"}, kBegin); }
  void hear(const std::vector<std::string>& names, TimePoint at) {
    for (const auto& name : names) roster.find(name)->last_heard = at;
    (void)bus.hear(at);
  }
  PortId nic(std::size_t host) const { return fabric.nics()[host]; }
  std::vector<ExpectedHost> expected() const {
    std::vector<ExpectedHost> hosts;
    for (const PortId each : fabric.nics()) hosts.push_back({fabric.port(each).node, {{"p1", each}}});
    return hosts;
  }
  static AgentRoster at_work(AgentRoster roster) {
    for (auto& [name, agent] : roster.agents()) agent.state = AgentRoster::State::ready;
    return roster;
  }
  /// A wave of one second for each of these hosts.
  std::vector<TaskId> begin_wave(const std::vector<std::size_t>& hosts, TimePoint at = kBegin) {
    std::vector<WorkItem> items;
    for (const auto host : hosts) items.push_back({nic(host), seconds(1), ReceivedQuery{BatchId(1)}});
    std::vector<TaskId> ids;
    for (const SendToAgent& sent : wave.begin(std::move(items), roster, kGrace, at))
      ids.push_back(std::get<Task>(sent.message).id);
    return ids;
  }

  Fabric fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 2}).value();
  AgentRoster roster = at_work({fabric, expected()});
  BusSilence bus{seconds(5), seconds(12)};
  TaskWave wave;
  PeerQuestions questions;
};

TEST(TaskWave, IsOverWhenEachTaskIsClosedOnce) {
  FourHosts run;
  const auto ids = run.begin_wave({0, 1});
  EXPECT_EQ(run.wave.size(), 2u);
  EXPECT_EQ(run.wave.item(ids[0], "host2"), nullptr) << "it is asked of host1";
  ASSERT_TRUE(run.wave.item(ids[0], "host1"));
  EXPECT_EQ(run.wave.close(ids[0])->nic, run.nic(0));
  EXPECT_EQ(run.wave.close(ids[0]), nullptr);
  EXPECT_EQ(run.wave.item(ids[0], "host1"), nullptr);
  EXPECT_EQ(run.wave.answered(), 1u);
  EXPECT_FALSE(run.wave.is_over());
  EXPECT_THAT(run.wave.tasks_of("host1"), IsEmpty());
  EXPECT_THAT(run.wave.tasks_of("host2"), ElementsAre(ids[1]));
  run.wave.close(ids[1]);
  EXPECT_TRUE(run.wave.is_over());
}

TEST(TaskWave, ATaskOfAWaveThatIsOverIsNoneOfTheNext) {
  FourHosts run;
  const auto first = run.begin_wave({0});
  run.wave.close(first[0]);
  run.begin_wave({0});
  EXPECT_EQ(run.wave.item(first[0], "host1"), nullptr);
}

TEST(TaskWave, AnAgentIsLateThatWasHeardSinceItsDeadline) {
  FourHosts run;
  run.begin_wave({0, 1});
  const auto deadline = kBegin + seconds(1) + kGrace;
  run.hear({"host1"}, deadline + milliseconds(100));
  EXPECT_THAT(run.wave.overdue(run.roster, run.bus, deadline + kAtOnce).agents, IsEmpty())
      << "others may be late for the same reason";
  const auto late = run.wave.overdue(run.roster, run.bus, deadline + kAtOnce + milliseconds(1));
  EXPECT_THAT(late.agents, ElementsAre("host1")) << "what host2 said may be under way";
  EXPECT_FALSE(late.alone);
}

TEST(TaskWave, OneThatIsLateAloneIsLateForItselfUntilTheBusWasSilentMeanwhile) {
  FourHosts run;
  run.begin_wave({0});
  const auto late = kBegin + seconds(3) + kAtOnce + milliseconds(1);
  run.hear({"host1"}, late);
  EXPECT_TRUE(run.wave.overdue(run.roster, run.bus, late).alone);
  run.bus.skip(seconds(2), kBegin + seconds(1));
  EXPECT_FALSE(run.wave.overdue(run.roster, run.bus, late).alone);
}

TEST(TaskWave, ThePutOffTaskHasItsTimeFromThere) {
  FourHosts run;
  run.begin_wave({0});
  run.wave.put_off(seconds(10));
  run.hear({"host1"}, kBegin + seconds(20));
  EXPECT_THAT(run.wave.overdue(run.roster, run.bus, kBegin + seconds(13)).agents, IsEmpty());
  EXPECT_THAT(run.wave.overdue(run.roster, run.bus, kBegin + seconds(20)).agents, ElementsAre("host1"));
}

TEST(TaskWave, WhoWasLateInOneWaveDoesNotExcuseAnotherInTheNext) {
  FourHosts run;
  const auto first = run.begin_wave({0});
  run.hear({"host1", "host2"}, kBegin + seconds(20));
  (void)run.wave.overdue(run.roster, run.bus, kBegin + seconds(10));
  run.wave.close(first[0]);
  run.begin_wave({1}, kBegin + seconds(10));
  const auto late = run.wave.overdue(run.roster, run.bus, kBegin + seconds(20));
  EXPECT_THAT(late.agents, ElementsAre("host2"));
  EXPECT_TRUE(late.alone);
}

TEST(BusSilence, APauseIsOneOnceAllHaveCome) {
  FourHosts run;
  EXPECT_FALSE(run.bus.hear(kBegin + seconds(9))) << "agents still gather";
  run.bus.begin();
  EXPECT_FALSE(run.bus.hear(kBegin + seconds(11)));
  EXPECT_FALSE(run.bus.was_silent_since(kBegin));
  EXPECT_EQ(run.bus.hear(kBegin + seconds(14)), seconds(3));
  EXPECT_TRUE(run.bus.was_silent_since(kBegin + seconds(14)));
  EXPECT_FALSE(run.bus.was_silent_since(kBegin + seconds(15)));
}

TEST(BusSilence, TimeInWhichThisProcessDidNotRunIsNoPauseOfTheBusBesides) {
  FourHosts run;
  run.bus.begin();
  run.bus.skip(seconds(60), kBegin + seconds(61));
  EXPECT_TRUE(run.bus.was_silent_since(kBegin + seconds(61)));
  EXPECT_FALSE(run.bus.hear(kBegin + seconds(62)));
}

TEST(BusSilence, SilenceOfSomeIsJudgedWhenAllOfThemAreBeyondTheLimit) {
  FourHosts run;
  run.hear({"host2"}, kBegin + seconds(1));
  run.hear({"host3", "host4"}, kBegin + seconds(7));
  EXPECT_THAT(run.bus.judge(run.roster, kBegin + milliseconds(6500)).silent_agents, IsEmpty());
  const auto judged = run.bus.judge(run.roster, kBegin + milliseconds(6501));
  EXPECT_THAT(judged.silent_agents, ElementsAre("host1", "host2"));
  EXPECT_FALSE(judged.bus_fell_silent);
}

TEST(BusSilence, WhereMostAreSilentItIsTheBusUntilTheyAreHeardOrItIsLost) {
  FourHosts run;
  run.hear({"host4"}, kBegin + seconds(7));
  auto judged = run.bus.judge(run.roster, kBegin + seconds(7));
  EXPECT_TRUE(judged.bus_fell_silent);
  EXPECT_THAT(judged.silent_agents, IsEmpty());
  EXPECT_TRUE(run.bus.is_silent());
  judged = run.bus.judge(run.roster, kBegin + seconds(12));
  EXPECT_FALSE(judged.bus_fell_silent || judged.bus_is_lost);
  EXPECT_TRUE(run.bus.judge(run.roster, kBegin + milliseconds(12'001)).bus_is_lost);
  EXPECT_FALSE(run.bus.hear(kBegin + seconds(13))) << "one is not most";
  run.hear({"host1", "host2", "host3"}, kBegin + seconds(14));
  judged = run.bus.judge(run.roster, kBegin + seconds(14));
  EXPECT_EQ(judged.bus_was_silent, seconds(14));
  EXPECT_THAT(judged.silent_agents, IsEmpty()) << "all have as long as ever from there";
  EXPECT_FALSE(run.bus.is_silent());
  EXPECT_TRUE(run.bus.was_silent_since(kBegin + seconds(14)));
}

TEST(PeerQuestions, AReplyGoesToNobodyWhereWhoAskedIsLost) {
  FourHosts run;
  const PeerQuestion question{run.nic(0), run.nic(1), 4, "hello"};
  ASSERT_TRUE(run.questions.pass_on("host1", question, run.roster));
  run.roster.find("host1")->state = AgentRoster::State::lost;
  EXPECT_FALSE(
      run.questions.pass_on("host2", PeerReply{run.nic(1), run.nic(0), 4, false, "yes"}, run.roster));
  EXPECT_THAT(run.questions.answer_for("host2", run.roster), IsEmpty());
}

TEST(PeerQuestions, EachWhoWaitsForALostAgentIsTold) {
  FourHosts run;
  for (const std::size_t asking : {0, 1, 2})
    ASSERT_TRUE(run.questions.pass_on(fmt::format("host{}", asking + 1),
                                      PeerQuestion{run.nic(asking), run.nic(asking == 2 ? 1 : 3), 4, "?"},
                                      run.roster));
  run.roster.find("host4")->state = AgentRoster::State::lost;
  const auto told = run.questions.answer_for("host4", run.roster);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].host, "host1");
  EXPECT_EQ(told[1].host, "host2");
  EXPECT_TRUE(std::get<PeerReply>(told[1].message).failed);
  EXPECT_THAT(run.questions.answer_for("host4", run.roster), IsEmpty()) << "once";
}

}  // namespace
}  // namespace weft::session
