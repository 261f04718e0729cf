#include "probes/watch/agent_engines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/standing_fleet.hpp"
#include "topology/model/clos.hpp"

namespace weft::watch {
namespace {

using ::testing::HasSubstr;

struct SpeakingFleet {
  Fabric fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  StandingPlan plan = fleet_plan(fabric, {});
  StandingEnds ends = fleet_ends(fabric, plan);
  PortId one = fabric.find_nic("host1").value(), two = fabric.find_nic("host2").value();
  AgentEngines engines{fabric, {ends.at(one).at, ends.at(two).at}};

  AgentEngines::News say(const char* host, const char* engine, std::optional<std::uint32_t> qp = {}) {
    const auto nic = fabric.find_nic(host).value();
    AgentHello hello{.host = host, .version = "0.9", .engine = engine};
    hello.interfaces.push_back({"eth0", {ends.at(nic).at.address}});
    if (qp) hello.interfaces[0].pair = packet::UdPair{QpNum(*qp), packet::QueueKey(5)};
    return engines.hear(host, hello);
  }
};

TEST(AgentEngines, NicsOfOneEngineProbeEachOtherAndThoseOfAnOlderAgentAllButQueuePairs) {
  SpeakingFleet fleet;
  EXPECT_TRUE(fleet.engines.can_probe(fleet.one, fleet.two)) << "nobody said anything";
  EXPECT_FALSE(fleet.say("host1", "raw").can_probe_others);
  EXPECT_TRUE(fleet.engines.can_probe(fleet.one, fleet.two)) << "host2 is older";
  EXPECT_TRUE(fleet.engines.can_probe(fleet.two, fleet.one));
  fleet.say("host2", "raw");
  EXPECT_TRUE(fleet.engines.can_probe(fleet.one, fleet.two));
  EXPECT_TRUE(fleet.say("host2", "umad").can_probe_others);
  EXPECT_FALSE(fleet.engines.can_probe(fleet.one, fleet.two));
}

TEST(AgentEngines, QueuePairsNeedThoseOfBothEnds) {
  SpeakingFleet fleet;
  EXPECT_TRUE(fleet.say("host1", "verbs", 17).can_probe_others);
  EXPECT_FALSE(fleet.engines.can_probe(fleet.one, fleet.two)) << "host2 is not heard";
  fleet.say("host2", "verbs");
  EXPECT_FALSE(fleet.engines.can_probe(fleet.one, fleet.two)) << "host2 has none";
  const auto news = fleet.say("host2", "verbs", 18);
  EXPECT_TRUE(news.can_probe_others);
  EXPECT_EQ(news.moved.size(), 1u);
  EXPECT_TRUE(fleet.engines.can_probe(fleet.one, fleet.two));
  EXPECT_TRUE(fleet.say("host2", "verbs", 18).moved.empty()) << "said again";
  const auto moved = fleet.say("host2", "verbs", 19);
  EXPECT_FALSE(moved.can_probe_others);
  EXPECT_EQ(moved.moved.at(fleet.two).qp, QpNum(19));
  fleet.engines.add_pairs(fleet.ends);
  EXPECT_EQ(fleet.ends.at(fleet.two).pair->qp, QpNum(19));
}

TEST(AgentEngines, AHostSpeaksForItsOwnNicsAlone) {
  SpeakingFleet fleet;
  AgentHello hello{.host = "host1", .version = "0.9", .engine = "verbs"};
  hello.interfaces.push_back({"eth0", {fleet.ends.at(fleet.two).at.address}, packet::UdPair{QpNum(1), {}}});
  EXPECT_TRUE(fleet.engines.hear("host1", hello).moved.empty());
  EXPECT_TRUE(fleet.engines.hear("leaf1", hello).moved.empty());
  EXPECT_TRUE(fleet.engines.hear("nobody", hello).moved.empty());
}

TEST(AgentEngines, WhatIsNotProbedIsLeftOutOfThePlanAndSaidWithTheReason) {
  SpeakingFleet fleet;
  EXPECT_EQ(fleet.engines.not_probed(fleet.plan), "");
  EXPECT_TRUE(same_ways(fleet.engines.only_probed(fleet.plan, {}), fleet.plan));
  fleet.say("host1", "raw");
  fleet.say("host2", "verbs", 18);
  const auto left = fleet.engines.only_probed(fleet.plan, {});
  EXPECT_EQ(left.rows, 0u);
  EXPECT_EQ(left.uncovered.size(), fleet.fabric.channel_count());
  const auto why = fleet.engines.not_probed(fleet.plan);
  EXPECT_THAT(why, HasSubstr("1 pairs of NICs are not probed"));
  EXPECT_THAT(why, HasSubstr("host1 probes by raw and host2 probes by verbs"));
  fleet.say("host1", "verbs");
  EXPECT_THAT(fleet.engines.not_probed(fleet.plan), HasSubstr("host1 has told no queue pair yet"));
  // A NIC without a stream is assigned all the same: others may come.
  const auto told = assignment_of(fleet.fabric, left, fleet.fabric.find_node("host1").value(), PlanVersion(1),
                                  fleet.ends, KeyEpochs({}, {}), {});
  EXPECT_TRUE(read_assignment(to_json_text(told))) << read_assignment(to_json_text(told)).error().message;
}

}  // namespace
}  // namespace weft::watch
