// What becomes of faults over time: by a simulated fleet through the whole watcher.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "tests/support/standing_fleet.hpp"
#include "topology/model/clos.hpp"

namespace weft::watch {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

Fabric lab() { return *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}); }

long count_of(const std::vector<IncidentEvent>& events, IncidentChange change) {
  return std::ranges::count(events, change, &IncidentEvent::change);
}

FaultSpec at(const Fabric& fabric, std::string_view channel) {
  const ChannelId its = *fabric.find_channel(channel);
  return {.link = Fabric::link_of(its), .channel = its};
}

TEST(Incidents, ALinkThatFlapsEvery20SecondsIsOneIncident) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {});
  run.advance(10);
  FaultSpec fault = at(fabric, "leaf1->spine2");
  fault.down = true, fault.on = seconds(20), fault.off = seconds(20);
  run.fleet().put({fault, run.now()});
  run.advance(180);
  EXPECT_EQ(count_of(run.events(), IncidentChange::suspected), 1);
  EXPECT_EQ(count_of(run.events(), IncidentChange::opened), 1);
  EXPECT_EQ(count_of(run.events(), IncidentChange::closed), 0);
  const auto incidents = run.state().incidents;
  ASSERT_EQ(incidents.size(), 1u);
  EXPECT_GE(incidents[0].flaps, 3u);
  EXPECT_LE(incidents[0].flaps, 5u);
  EXPECT_THAT(incidents[0].place.channels, ElementsAre(*fault.channel));
}

TEST(Incidents, MinutesCountAlsoWhereOnlyLooksFurtherBackShowIt) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {});
  FaultSpec fault = at(fabric, "leaf1->spine2");
  fault.loss = Fraction(0.003);
  run.fleet().put({fault, seconds(10), seconds(610)});
  run.advance(605);
  const auto incidents = run.state().incidents;
  ASSERT_EQ(incidents.size(), 1u);
  EXPECT_GE(incidents[0].bad, seconds(480)) << "a look at few seconds saw it once, by chance";
  EXPECT_LE(incidents[0].bad, seconds(610));
  EXPECT_GE(incidents[0].last_seen, run.now() - seconds(130))
      << "the scale that shows it looks back two minutes";
}

TEST(Incidents, ThatRecoverWaitForTheirPathsToBeMappedAgain) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {}, {.tolerance = {}, .book = {.hold = seconds(2), .verify_paths = true}});
  FaultSpec fault = at(fabric, "leaf1->spine2");
  fault.loss = Fraction(0.1);
  run.fleet().put({fault, seconds(5), seconds(15)});
  run.advance(60);
  EXPECT_EQ(count_of(run.events(), IncidentChange::recovering), 1);
  EXPECT_EQ(count_of(run.events(), IncidentChange::closed), 0);
  EXPECT_NE(run.state().verdict, Verdict::healthy);
  EXPECT_TRUE(run.watcher().tick(run.now(), run.now()).map_again);
  run.watcher().paths_known(seconds(10));  // mapped before it recovered: that says nothing
  run.advance(10);
  EXPECT_EQ(count_of(run.events(), IncidentChange::closed), 0);
  run.watcher().paths_known(run.now());
  run.advance(10);
  EXPECT_EQ(count_of(run.events(), IncidentChange::closed), 1);
  EXPECT_EQ(run.state().verdict, Verdict::healthy);
}

/// In every second from then on: the fault lasts, so something is open there.
void expect_never_over(FleetRun& run, ChannelId channel, int during) {
  for (int second = 0; second < during; ++second) {
    run.advance(1);
    bool is_named = false;
    for (const Incident& incident : run.state().incidents) {
      const auto& place = incident.place.channels;
      is_named |= std::ranges::find(place, channel) != place.end();
    }
    ASSERT_TRUE(is_named) << "at " << run.now().count() / 1'000'000'000 << " s";
  }
}

TEST(Incidents, ACableIsNotTakenForItsSwitchByALookFromBeforeItBegan) {
  const Fabric fabric = *make_clos({.leaves = 3, .spines = 2, .hosts_per_leaf = 2});
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    FleetRun run(fabric, {.seed = seed}, {.tolerance = {}, .book = {.hold = seconds(2)}});
    FaultSpec small = at(fabric, "spine1->leaf2");
    small.loss = Fraction(0.001);
    run.fleet().put({small, seconds(5)});
    ASSERT_TRUE(run.until_opened(120));
    FaultSpec large = at(fabric, "leaf3->spine1");
    large.channel.reset(), large.loss = Fraction(0.05);
    run.fleet().put({large, run.now(), run.now() + seconds(5)});
    expect_never_over(run, *small.channel, 60);
  }
}

TEST(Incidents, AFaultFromBeforeTheFirstWindowIsFound) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {});
  FaultSpec fault = at(fabric, "spine1->leaf4");
  fault.loss = Fraction(0.05);
  run.fleet().put({fault, seconds(-5)});
  const auto opened = run.until_opened(5);
  ASSERT_TRUE(opened);
  EXPECT_THAT(opened->incident.place.channels, ElementsAre(*fault.channel));
}

TEST(Incidents, AFabricAllOfWhoseUplinksLoseIsNotHealthy) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {});
  for (std::uint32_t link = 0; link < fabric.link_count(); ++link)
    if (fabric.between_switches(LinkId(link)))
      run.fleet().put({{.link = LinkId(link), .loss = Fraction(0.01)}, {}});
  for (int i = 0; i < 4; ++i) {
    run.advance(3);
    EXPECT_NE(run.state().verdict, Verdict::healthy);
  }
}

TEST(Incidents, InAFabricOfTwoLeavesTheCableIsFound) {
  const Fabric fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  FleetRun run(fabric, {});
  run.advance(5);
  FaultSpec fault = at(fabric, "leaf1->spine2");
  fault.loss = Fraction(0.02);
  run.fleet().put({fault, run.now()});
  run.advance(30);
  const auto incidents = run.state().incidents;
  ASSERT_EQ(incidents.size(), 1u);
  EXPECT_EQ(incidents[0].state, IncidentState::open);
  // All that goes up there comes down at the other leaf: which of the two it is no probe tells.
  EXPECT_THAT(incidents[0].place.alternatives, Contains(ElementsAre(*fault.channel)));
}

TEST(Incidents, NothingClosesThatNoProbeCrosses) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {});
  run.advance(10);
  FaultSpec fault = at(fabric, "leaf1->spine2");
  fault.loss = Fraction(0.1);
  run.fleet().put({fault, run.now(), run.now() + seconds(10)});
  ASSERT_TRUE(run.until_opened(6));
  run.between = [](std::vector<SentWindow>& windows) { windows.clear(); };
  run.advance(600);
  const auto state = run.state();
  ASSERT_EQ(state.incidents.size(), 1u);
  EXPECT_EQ(state.incidents[0].state, IncidentState::open);
  EXPECT_NE(state.verdict, Verdict::healthy);
}

TEST(Incidents, AMutedOneSaysSoInItsFirstEventAndTheMuteEndsByItself) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {});
  const NodeId leaf = *fabric.find_node("leaf1");
  run.watcher().mute({{.target = leaf, .from = {}, .until = seconds(40), .reason = "new optics"}});
  run.advance(10);
  FaultSpec fault = at(fabric, "leaf1->spine2");
  fault.loss = Fraction(0.1);
  run.fleet().put({fault, run.now()});
  run.advance(20);
  ASSERT_FALSE(run.events().empty());
  for (const IncidentEvent& event : run.events()) EXPECT_EQ(event.incident.muted_by, "new optics");
  run.advance(20);
  EXPECT_EQ(run.events().back().incident.muted_by, std::nullopt);
  EXPECT_EQ(run.state().incidents.front().muted_by, std::nullopt);
}

TEST(Incidents, ARestartedWatcherGoesOnWithTheSameIncident) {
  const Fabric fabric = lab();
  FaultSpec fault = at(fabric, "leaf1->spine2");
  fault.loss = Fraction(0.1);
  std::vector<IncidentEvent> before;
  {
    FleetRun run(fabric, {});
    run.fleet().put({fault, seconds(5)});
    run.advance(15);
    before = run.events();
  }
  ASSERT_FALSE(before.empty());
  FleetRun run(fabric, {.seed = 2});
  run.watcher().restore({&before.back(), 1}, 0, {});
  run.fleet().put({fault, {}, seconds(20)});
  run.advance(120);
  EXPECT_THAT(run.state().incidents, IsEmpty());
  std::uint64_t number = before.back().number;
  for (const IncidentEvent& event : run.events()) {
    EXPECT_EQ(event.incident.id, before.back().incident.id);
    EXPECT_EQ(event.number, ++number);
  }
  EXPECT_EQ(run.events().back().change, IncidentChange::closed);
}

TEST(Incidents, ADelayIsFoundAndEnds) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {});
  run.advance(15);
  FaultSpec fault = at(fabric, "leaf1->spine2");
  fault.delay = std::chrono::milliseconds(2);
  run.fleet().put({fault, run.now(), run.now() + seconds(60)});
  const auto opened = run.until_opened(60);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->incident.cause, Cause::delay);
  EXPECT_THAT(opened->incident.place.channels, Contains(*fault.channel));
  run.advance(240);
  EXPECT_THAT(run.state().incidents, IsEmpty());
}

/// Windows of a time in which the server is away: each host tells them up to three seconds after it is back.
std::function<void(std::vector<SentWindow>&)> told_late(const FleetRun& run, Nanoseconds from,
                                                        Nanoseconds until) {
  auto held = std::make_shared<std::vector<SentWindow>>();
  return [held, &run, from, until](std::vector<SentWindow>& windows) {
    std::vector<SentWindow> now;
    windows.insert(windows.begin(), held->begin(), held->end());
    held->clear();
    for (SentWindow& sent : windows) {
      const Nanoseconds back = until + std::chrono::milliseconds(sent.host.value() * 977 % 3000);
      const bool is_late = run.now() > from && run.now() <= back;
      if (!is_late) sent.arrival = std::max(sent.arrival, run.now() - std::chrono::milliseconds(750));
      (is_late ? *held : now).push_back(std::move(sent));
    }
    windows = std::move(now);
  };
}

TEST(Incidents, ABacklogOfWindowsNeitherEndsAnIncidentNorBringsItBack) {
  const Fabric fabric = *make_clos({.leaves = 2, .spines = 8, .hosts_per_leaf = 4});
  for (const int away : {3, 15, 40}) {
    SCOPED_TRACE(away);
    FleetRun run(fabric, {});
    FaultSpec fault = at(fabric, "spine5->leaf1");
    fault.loss = Fraction(0.07);
    run.fleet().put({fault, seconds(10)});
    run.between = told_late(run, seconds(25), seconds(25 + away));
    run.advance(90);
    EXPECT_EQ(count_of(run.events(), IncidentChange::opened), 1);
    EXPECT_EQ(count_of(run.events(), IncidentChange::recovering), 0);
    EXPECT_EQ(count_of(run.events(), IncidentChange::came_back), 0);
  }
}

TEST(Incidents, WhenMostAgentsFallSilentAtOnceItIsTheBusAndNoHostIsDown) {
  const Fabric fabric = *make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 1});
  for (const char* cable : {"leaf2--spine2", "host2--leaf2"})
    for (const int away : {10, 45}) {
      SCOPED_TRACE(cable);
      FleetRun run(fabric, {});
      run.fleet().put({{.link = *fabric.find_link(cable), .down = true}, seconds(12)});
      run.between = told_late(run, seconds(30), seconds(30 + away));
      run.advance(110);
      for (const IncidentEvent& event : run.events()) EXPECT_THAT(event.incident.place.nodes, IsEmpty());
      EXPECT_EQ(count_of(run.events(), IncidentChange::opened), 1);
    }
}

TEST(Incidents, MostHostsThatStayDownAreToldOfWhileOthersAreHeard) {
  const Fabric fabric = *make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 2});
  FleetRun run(fabric, {});
  run.advance(10);
  for (int i = 0; i < 5; ++i) run.fleet().stop(fabric.hosts()[i]);
  run.advance(25);
  EXPECT_EQ(count_of(run.events(), IncidentChange::opened), 0) << "it may be the bus";
  run.advance(20);
  EXPECT_GE(count_of(run.events(), IncidentChange::opened), 3) << "two leaves and a host";
}

TEST(Incidents, OneInTheShadowOfAnotherNeitherEndsNorComesBackBeforeItsTime) {
  const Fabric fabric = *make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 1});
  FleetRun run(fabric, {.seed = 47});
  FaultSpec cable = at(fabric, "host2->leaf2"), uplink = at(fabric, "leaf2->spine1");
  cable.channel.reset(), cable.loss = Fraction(0.44), uplink.loss = Fraction(0.16);
  run.fleet().put({cable, seconds(15), seconds(60)});
  run.fleet().put({uplink, seconds(18)});
  run.advance(80);
  const auto& events = run.events();
  for (const IncidentEvent& event : events)
    EXPECT_TRUE(event.change != IncidentChange::recovering || event.at >= seconds(60));
  EXPECT_EQ(count_of(events, IncidentChange::came_back), 0);
}

TEST(Incidents, OneThatCannotBeToldApartLastsBesideADeadSpine) {
  const Fabric fabric = *make_clos({.leaves = 2, .spines = 8, .hosts_per_leaf = 4});
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    FleetRun run(fabric, {.seed = seed});
    for (const char* cable : {"leaf1--spine1", "leaf2--spine1"})
      run.fleet().put({{.link = *fabric.find_link(cable), .down = true}, seconds(14)});
    FaultSpec small = at(fabric, "spine2->leaf2");
    small.loss = Fraction(0.014);
    run.fleet().put({small, seconds(18)});
    run.advance(60);
    EXPECT_EQ(count_of(run.events(), IncidentChange::recovering), 0) << seed;
    EXPECT_EQ(count_of(run.events(), IncidentChange::opened), 2) << seed;
  }
}

TEST(Incidents, AHostsOnlyCableIsNamedNotTheHostNorItsLeaf) {
  for (const std::uint32_t hosts : {1u, 4u}) {
    const Fabric fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = hosts});
    for (const double loss : {0.03, 1.0}) {
      SCOPED_TRACE(loss);
      FleetRun run(fabric, {});
      FaultSpec fault = at(fabric, "host2->leaf" + std::to_string(1 + 1 / hosts));
      fault.channel.reset(), fault.loss = Fraction(loss);
      run.fleet().put({fault, seconds(14), seconds(80)});
      run.advance(150);
      ASSERT_FALSE(run.events().empty());
      for (const IncidentEvent& event : run.events()) {
        EXPECT_THAT(event.incident.place.nodes, IsEmpty()) << to_string(event.change);
        EXPECT_EQ(Fabric::link_of(event.incident.place.channels.at(0)), fault.link);
      }
    }
  }
}

TEST(Incidents, WhatIsOverIsNoFaultOfAnythingElseInALookFurtherBack) {
  const Fabric fabric = *make_clos({.leaves = 2, .spines = 4, .hosts_per_leaf = 2});
  FleetRun run(fabric, {});
  FaultSpec fault = at(fabric, "host4->leaf2");
  fault.down = true;
  run.fleet().put({fault, seconds(17), seconds(58)});
  run.advance(400);
  EXPECT_EQ(count_of(run.events(), IncidentChange::suspected), 1);
  EXPECT_THAT(run.state().incidents, IsEmpty());
}

TEST(Incidents, ADeadSpineIsOneIncidentFromItsBeginToItsEnd) {
  const Fabric fabric = *make_clos({.leaves = 6, .spines = 3, .hosts_per_leaf = 2});
  FleetRun run(fabric, {});
  const NodeId spine = *fabric.find_node("spine1");
  for (const ChannelId channel : fabric.channels_at(spine))
    if (fabric.source_node(channel) == spine)
      run.fleet().put({{.link = Fabric::link_of(channel), .down = true}, seconds(19), seconds(50)});
  run.advance(125);
  EXPECT_EQ(count_of(run.events(), IncidentChange::opened), 1);
  EXPECT_EQ(count_of(run.events(), IncidentChange::closed), 1);
  EXPECT_THAT(run.state().incidents, IsEmpty());
}

TEST(Incidents, WhatCannotBeToldApartIsToldOnce) {
  const Fabric fabric = *make_clos({.leaves = 2, .spines = 8, .hosts_per_leaf = 4});
  FleetRun run(fabric, {.seed = 7});
  FaultSpec fault = at(fabric, "leaf2->spine1");
  fault.channel.reset(), fault.loss = Fraction(0.025);
  run.fleet().put({fault, seconds(16), seconds(61)});
  run.advance(60);
  EXPECT_LE(count_of(run.events(), IncidentChange::changed), 3);
  EXPECT_EQ(count_of(run.events(), IncidentChange::opened), 1);
}

}  // namespace
}  // namespace weft::watch
