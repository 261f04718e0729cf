// Who takes part in a run: what agents tell when they come, and whose a NIC is.
#include "probes/session/agent_roster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/session/engine_choice.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

using State = AgentRoster::State;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

IpAddress address(const char* text) { return IpAddress::parse(text).value(); }

/// Two hosts of two NICs each: "eth0" and "eth1" in the fabric file.
struct TwoHosts {
  Fabric fabric = make_rails({.groups = 1, .hosts_per_group = 2, .rails = 2, .spines = 1}).value();
  std::vector<PortId> nics_of(std::size_t host) const {
    const auto ports = fabric.ports_of(fabric.hosts()[host]);
    return {ports.begin(), ports.end()};
  }
  AgentRoster roster{fabric,
                     {{fabric.hosts()[0], {{"eth0", nics_of(0)[0]}, {"eth1", nics_of(0)[1]}}},
                      {fabric.hosts()[1], {{"eth0", nics_of(1)[0]}, {"eth1", nics_of(1)[1]}}}}};
  AgentRoster::Agent& one = *roster.find("host1");
  AgentRoster::Agent& two = *roster.find("host2");
};

TEST(AgentRoster, KeepsTheNicsThatAnAgentWasStartedWithByItsOwnNamesForThem) {
  TwoHosts run;
  const auto nics = run.nics_of(0);
  run.roster.name_targets({{nics[0], address("10.0.0.1")}, {nics[1], address("10.0.0.2")}});
  const Hello hello{.host = "host1", .engine = "raw", .nics = {{"ens3", address("10.0.0.2")}}};
  EXPECT_THAT(run.roster.admit(run.one, hello).value(), ElementsAre(nics[0]));
  EXPECT_THAT(run.one.expected.nics, ElementsAre(NicAssignment{"ens3", nics[1]}));
  EXPECT_EQ(run.one.engine, "raw");
}

TEST(AgentRoster, KeepsAllNicsOfAnAgentThatTellsNone) {
  TwoHosts run;
  EXPECT_THAT(run.roster.admit(run.one, Hello{.host = "host1"}).value(), IsEmpty());
  EXPECT_EQ(run.one.expected.nics.size(), 2u);
}

TEST(AgentRoster, SaysFirstWhatKeepsAnAgentOutHoweverItIsStarted) {
  TwoHosts run;
  run.roster.require_engine("umad");
  Hello hello{.host = "host1", .version = "0.1", .engine = "raw", .nics = {{"lo", address("127.0.0.1")}}};
  hello.protocol = kProtocol + 1;
  const auto why = [&] { return run.roster.admit(run.one, hello).error().message; };
  EXPECT_THAT(why(), HasSubstr("its weft is version 0.1 and speaks protocol"));
  hello.protocol = kProtocol;
  EXPECT_THAT(why(), HasSubstr("was started with --engine raw"));
  hello.engine = "ibsim";
  EXPECT_THAT(why(), HasSubstr("none of the NICs"));
  hello.nics.clear();
  EXPECT_TRUE(run.roster.admit(run.one, hello));
  run.one.state = State::ready;
  EXPECT_THAT(why(), HasSubstr("began anew"));
}

TEST(AgentRoster, ANicWorksWithItsAgentAndStaysItsOwn) {
  TwoHosts run;
  const PortId nic = run.nics_of(1)[0];
  EXPECT_EQ(run.roster.working_agent_of(nic), nullptr);
  run.two.state = State::ready;
  ASSERT_TRUE(run.roster.working_agent_of(nic));
  EXPECT_EQ(*run.roster.working_agent_of(nic), "host2");
  run.two.state = State::lost;
  EXPECT_EQ(run.roster.working_agent_of(nic), nullptr);
  EXPECT_EQ(*run.roster.agent_of(nic), "host2");
}

TEST(AgentRoster, HasGatheredOnceEachIsReadyOrLost) {
  TwoHosts run;
  run.one.state = State::ready;
  for (const State waiting : {State::awaited, State::offering, State::starting}) {
    run.two.state = waiting;
    EXPECT_FALSE(run.roster.all_gathered());
  }
  run.two.state = State::lost;
  EXPECT_TRUE(run.roster.all_gathered());
}

TEST(AgentRoster, TheHostsThatJoinedAreThoseThatToldWhatTheyHaveAndAreNotLost) {
  TwoHosts run;
  for (auto* agent : {&run.one, &run.two}) {
    agent->state = State::ready;
    agent->inventory = HostInventory{};
  }
  EXPECT_EQ(run.roster.joined_hosts().size(), 2u);
  run.one.state = State::lost;
  const auto joined = run.roster.joined_hosts();
  ASSERT_EQ(joined.size(), 1u);
  EXPECT_EQ(joined[0].host, run.fabric.hosts()[1]);
  EXPECT_EQ(joined[0].nics.size(), 2u);
}

TEST(EngineOfRun, IsThatOfMostNicsNotOfMostAgents) {
  TwoHosts run;
  for (auto* agent : {&run.one, &run.two}) agent->state = State::ready;
  run.one.engine = "dpdk";
  run.two.engine = "verbs";
  run.one.expected.nics.pop_back();
  const auto others = of_other_engines(run.roster);
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].agent, "host1");
  run.one.engine = "";
  EXPECT_THAT(of_other_engines(run.roster), IsEmpty()) << "who does not tell may take part";
}

TEST(EngineOfRun, LeavesOutTheNicsOfAnAgentThatCannotSendByItAndStartsItWithTheOthers) {
  TwoHosts run;
  for (auto* agent : {&run.one, &run.two}) agent->state = State::offering;
  run.one.offers = {{"eth0", "mlx5_0", ""}, {"eth1", "", "eth1 has no address"}};
  run.two.offers = {{"eth0", "mlx5_0", ""}, {"eth1", "mlx5_1", ""}};
  const auto chosen = choose_engine_of_run(run.fabric, run.roster);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->choice.engine, "verbs");
  EXPECT_THAT(chosen->starting, ElementsAre("host1", "host2"));
  EXPECT_THAT(chosen->useless, IsEmpty());
  ASSERT_EQ(chosen->left_out.size(), 1u);
  EXPECT_EQ(chosen->left_out[0].nic, run.nics_of(0)[1]);
  EXPECT_THAT(chosen->left_out[0].why, HasSubstr("eth1 has no address"));
  EXPECT_THAT(run.one.expected.nics, ElementsAre(NicAssignment{"eth0", run.nics_of(0)[0], "verbs"}));
  EXPECT_FALSE(choose_engine_of_run(run.fabric, run.roster)) << "once";
}

TEST(EngineOfRun, IsNotChosenWhileAnAgentIsAwaited) {
  TwoHosts run;
  run.one.state = State::offering;
  run.one.offers = {{"eth0", "mlx5_0", ""}, {"eth1", "mlx5_1", ""}};
  EXPECT_FALSE(choose_engine_of_run(run.fabric, run.roster));
  run.two.state = State::lost;
  EXPECT_TRUE(choose_engine_of_run(run.fabric, run.roster));
}

}  // namespace
}  // namespace weft::session
