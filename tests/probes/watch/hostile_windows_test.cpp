// Windows that are late, repeated, out of order or lies, and agents that stop.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "tests/support/standing_fleet.hpp"
#include "topology/model/clos.hpp"

namespace weft::watch {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

Fabric lab() { return *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}); }

/// The channels of each incident that ever opened.
std::vector<IncidentPlace> opened(const std::vector<IncidentEvent>& events) {
  std::vector<IncidentPlace> places;
  for (const IncidentEvent& event : events)
    if (event.change == IncidentChange::opened) places.push_back(event.incident.place);
  return places;
}

TEST(HostileWindows, RepeatedLateAndDisorderedOnesTellTheSame) {
  const Fabric fabric = lab();
  const ChannelId bad = *fabric.find_channel("leaf2->spine3");
  FleetRun run(fabric, {});
  std::mt19937_64 random(7);
  run.between = [&](std::vector<SentWindow>& windows) {
    const std::size_t all = windows.size();
    for (std::size_t i = 0; i < all; ++i) windows.push_back(windows[i]);
    std::ranges::shuffle(windows, random);
  };
  run.fleet().put({{.link = Fabric::link_of(bad), .channel = bad, .loss = Fraction(0.02)}, seconds(5)});
  run.advance(40);
  ASSERT_EQ(opened(run.events()).size(), 1u);
  const auto state = run.state();
  EXPECT_THAT(state.incidents[0].place.channels, ElementsAre(bad));
  for (const AgentState& agent : state.agents) {
    EXPECT_EQ(agent.windows, 40u);
    EXPECT_EQ(agent.gaps, 0u);
    EXPECT_EQ(agent.refused, 0u);
  }
}

TEST(HostileWindows, AWindowThatIsLostIsAGapAndNoHealth) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {});
  const NodeId host = *fabric.find_node("host5");
  run.between = [&](std::vector<SentWindow>& windows) {
    std::erase_if(windows,
                  [&](const SentWindow& sent) { return sent.host == host && sent.window.number % 5 == 3; });
  };
  run.advance(31);
  const auto state = run.state();
  const auto agent = std::ranges::find(state.agents, host, &AgentState::host);
  EXPECT_EQ(agent->gaps, 6u);
  EXPECT_EQ(agent->refused, 0u);
  EXPECT_THAT(run.events(), IsEmpty());
}

TEST(HostileWindows, OneLyingAgentHasNoSwitchLinkNamed) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {});
  const NodeId liar = *fabric.find_node("host6");
  const ChannelId blamed = *fabric.find_channel("leaf2->spine1");
  run.between = [&](std::vector<SentWindow>& windows) {
    for (SentWindow& sent : windows) {
      if (sent.host != liar) continue;
      NicWindow& told = sent.window.nics.front();
      const StandingNic& nic = run.plan().nics_of(liar).front();
      told.lost.clear();
      for (std::uint32_t i = 0; i < told.count; ++i) {
        const auto& stream = nic.streams[(told.first + i) % nic.streams.size()];
        const auto path = run.plan().paths.channels(run.plan().paths.paths(stream.there).front());
        if (std::ranges::find(path, blamed) != path.end()) told.lost.push_back({i, LostWay::there});
      }
    }
  };
  run.advance(60);
  EXPECT_THAT(opened(run.events()), IsEmpty());
}

TEST(HostileWindows, HalfTheAgentsThatSaidByeAreNoFault) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {});
  run.advance(10);
  for (std::size_t h = 0; h < 8; ++h) {
    run.watcher().bye(fabric.name_of(fabric.hosts()[h]), true, run.now());
    run.fleet().stop(fabric.hosts()[h]);
  }
  run.advance(60);
  EXPECT_THAT(opened(run.events()), IsEmpty());
  EXPECT_EQ(run.state().verdict, Verdict::unknown);
}

TEST(HostileWindows, AnAgentThatSaidByeAndComesBackIsNoFault) {
  const Fabric fabric = lab();
  for (const int away : {1, 3, 40}) {
    FleetRun run(fabric, {});
    run.advance(10);
    const NodeId host = *fabric.find_node("host7");
    run.watcher().bye(fabric.name_of(host), true, run.now());
    // Its last window is heard after that.
    run.advance(1);
    run.fleet().stop(host);
    run.advance(away);
    run.watcher().hello(fabric.name_of(host), {}, {}, run.now());
    run.advance(2);  // it begins
    run.fleet().start(host);
    run.advance(75);  // for a minute after its new life began nobody is sure
    EXPECT_THAT(run.events(), IsEmpty()) << away;
    EXPECT_EQ(run.state().verdict, Verdict::healthy) << away;
  }
}

TEST(HostileWindows, AnAgentThatIsKilledAndStartedAgainBlamesNoCable) {
  const Fabric fabric = lab();
  for (const int away : {1, 2, 3, 5}) {
    FleetRun run(fabric, {});
    run.advance(10);
    const NodeId host = *fabric.find_node("host7");
    run.fleet().stop(host);
    run.advance(away);
    run.fleet().start(host);
    run.advance(90);
    for (const IncidentPlace& place : opened(run.events())) EXPECT_THAT(place.channels, IsEmpty()) << away;
    EXPECT_THAT(run.state().incidents, IsEmpty()) << away;
  }
}

TEST(HostileWindows, AnAgentThatIsStartedAgainAndAgainIsNoHealth) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {});
  run.advance(10);
  const NodeId host = *fabric.find_node("host7");
  for (int life = 0; life < 4; ++life) {
    run.fleet().stop(host);
    run.advance(1);
    run.fleet().start(host);
    run.advance(20);
    EXPECT_EQ(run.state().verdict, Verdict::unknown) << "life " << life;
  }
  run.advance(90);
  EXPECT_EQ(run.state().verdict, Verdict::healthy);
}

TEST(HostileWindows, AFaintFaultShowsSoonAfterAllAgentsWereStartedAnew) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {.delays = false});
  run.advance(30);
  for (const NodeId host : fabric.hosts()) {
    run.fleet().stop(host);
    run.advance(1);
    run.fleet().start(host);
  }
  run.advance(40);
  const ChannelId bad = *fabric.find_channel("leaf2->spine3");
  // The look over two minutes is the first that is sure of it; by rows that no agent was away of it would be
  // so after two minutes more.
  run.fleet().put({{.link = Fabric::link_of(bad), .channel = bad, .loss = Fraction(0.003)}, seconds(1)});
  run.advance(75);
  ASSERT_FALSE(opened(run.events()).empty());
  EXPECT_THAT(opened(run.events()).front().channels, Contains(bad));
}

TEST(HostileWindows, AHostThatDiesBesideADeadCableIsTheHostFromTheFirst) {
  const Fabric fabric = lab();
  for (const char* name : {"host3", "host7", "host15"}) {
    FleetRun run(fabric, {});
    const ChannelId bad = *fabric.find_channel("leaf2->spine3");
    run.fleet().put({{.link = Fabric::link_of(bad), .channel = bad, .down = true}, seconds(5)});
    const ChannelId other = *fabric.find_channel("spine4->leaf1");
    run.fleet().put({{.link = Fabric::link_of(other), .channel = other, .loss = Fraction(0.3)}, seconds(5)});
    run.advance(30);
    run.fleet().stop(*fabric.find_node(name));
    run.advance(30);
    const auto places = opened(run.events());
    ASSERT_EQ(places.size(), 3u) << name;
    EXPECT_THAT(places[2].nodes, ElementsAre(*fabric.find_node(name))) << name;
  }
}

TEST(HostileWindows, AHostThatDiesIsOneFindingAndNoLinkIsBlamed) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {});
  run.advance(10);
  const NodeId host = *fabric.find_node("host7");
  run.fleet().stop(host);
  run.advance(30);
  const auto places = opened(run.events());
  ASSERT_EQ(places.size(), 1u);
  EXPECT_THAT(places[0].nodes, ElementsAre(host));
  EXPECT_THAT(places[0].channels, IsEmpty());
  run.fleet().start(host);
  run.advance(120);
  EXPECT_THAT(run.state().incidents, IsEmpty());
  EXPECT_EQ(run.state().verdict, Verdict::healthy);
}

TEST(HostileWindows, HalfTheAgentsThatDieUnannouncedBlameNoLink) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {});
  run.advance(10);
  for (std::size_t h = 0; h < 16; h += 2) run.fleet().stop(fabric.hosts()[h]);
  run.advance(30);
  const auto places = opened(run.events());
  EXPECT_EQ(places.size(), 8u);
  for (const IncidentPlace& place : places) EXPECT_THAT(place.channels, IsEmpty());
}

TEST(HostileWindows, AWholeLeafDownIsOneIncidentOfTheLeaf) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {});
  run.advance(10);
  const NodeId leaf = *fabric.find_node("leaf3");
  for (const ChannelId channel : fabric.channels_from(leaf))
    run.fleet().put({{.link = Fabric::link_of(channel), .down = true}, run.now()});
  run.advance(15);
  const auto incidents = run.state().incidents;
  ASSERT_EQ(incidents.size(), 1u);
  EXPECT_THAT(incidents[0].place.nodes, ElementsAre(leaf));
  EXPECT_EQ(incidents[0].cause, Cause::down);
}

}  // namespace
}  // namespace weft::watch
