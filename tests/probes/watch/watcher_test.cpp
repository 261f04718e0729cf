#include "probes/watch/watcher.hpp"

#include <gmock/gmock.h>

#include <map>

#include "tests/support/standing_fleet.hpp"
#include "topology/model/clos.hpp"

namespace weft::watch {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

Fabric lab() { return *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}); }

FaultSpec lossy(const Fabric& fabric, std::string_view link, double share, std::string_view from) {
  const ChannelId channel = *fabric.find_channel(from);
  return {.link = *fabric.find_link(link), .channel = channel, .loss = Fraction(share)};
}

std::vector<IncidentChange> changes_of(const std::vector<IncidentEvent>& events) {
  std::vector<IncidentChange> all;
  for (const IncidentEvent& event : events)
    if (event.change != IncidentChange::changed) all.push_back(event.change);
  return all;
}

TEST(Watcher, OpensAnIncidentAtTheChannelAndClosesItWhenCleanProbesCrossAgain) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {});
  EXPECT_TRUE(run.advance(10).empty());
  EXPECT_EQ(run.state().verdict, Verdict::healthy);
  FaultSpec fault = lossy(fabric, "leaf1--spine2", 0.01, "leaf1->spine2");
  run.fleet().put({fault, run.now(), run.now() + seconds(30)});
  const auto opened = run.until_opened(6);
  ASSERT_TRUE(opened);
  EXPECT_THAT(opened->incident.place.channels, ElementsAre(*fault.channel));
  EXPECT_EQ(opened->incident.cause, Cause::loss);
  EXPECT_EQ(run.state().verdict, Verdict::degraded);
  run.advance(150);
  EXPECT_THAT(changes_of(run.events()), ElementsAre(IncidentChange::suspected, IncidentChange::opened,
                                                    IncidentChange::recovering, IncidentChange::closed));
  EXPECT_EQ(run.state().verdict, Verdict::healthy);
}

TEST(Watcher, KnowsNothingOfAFabricOfWhichNothingIsHeard) {
  const Fabric fabric = lab();
  Watcher watcher(fabric, {});
  EXPECT_EQ(watcher.state({}, true, {}).verdict, Verdict::unknown);
  FleetRun run(fabric, {});
  run.between = [](std::vector<SentWindow>& windows) { windows.clear(); };
  EXPECT_TRUE(run.advance(30).empty());
  EXPECT_EQ(run.state().verdict, Verdict::unknown);
}

/// Three leaves of eight hosts, all of which have the plan.
struct Renewed {
  Fabric fabric = *make_clos({.leaves = 3, .spines = 2, .hosts_per_leaf = 8});
  StandingPlan plan = fleet_plan(fabric, {});
  Watcher watcher{fabric, {.tolerance = {}, .book = {}, .secret = {std::byte{5}}, .key_time = seconds(600)}};
  std::map<std::string, Assignment> has;

  Renewed() {
    watcher.learned(plan, PlanVersion(4), fleet_ends(fabric, plan), {});
    EXPECT_EQ(tick({}), 24u);
  }
  std::size_t tick(Nanoseconds now) {
    const auto actions = watcher.tick(now, now);
    for (const auto& [host, assignment] : actions.assignments) has[host] = assignment;
    return actions.assignments.size();
  }
};

TEST(Watcher, RenewsTheKeysOfAllHostsAFewATickAndNothingElse) {
  Renewed run;
  const auto before = run.has;
  EXPECT_EQ(run.tick(seconds(599)), 0u);
  std::size_t ticks = 0, told = 0;
  for (; told < 24 && ticks < 24; ++ticks) {
    const auto now = run.tick(seconds(600) + std::chrono::milliseconds(100) * ticks);
    EXPECT_LE(now, 8u);
    told += now;
  }
  EXPECT_EQ(ticks, 3u);
  for (const auto& [host, assignment] : run.has) {
    EXPECT_TRUE(same_work(assignment, before.at(host)));
    EXPECT_EQ(assignment.epochs.at(0).name, before.at(host).epochs.at(1).name);
    EXPECT_EQ(assignment.epochs.at(0).pairs, before.at(host).epochs.at(1).pairs);
    EXPECT_NE(assignment.epochs.at(1).own, before.at(host).epochs.at(1).own);
  }
  EXPECT_EQ(run.tick(seconds(602)), 0u);
}

TEST(Watcher, TellsAnAgentNothingThatItHas) {
  Renewed run;
  const std::string host(run.fabric.name_of(run.fabric.hosts().front()));
  const RunId epoch = run.has.at(host).epochs.at(0).name;
  run.watcher.hello(host, PlanVersion(4), epoch, seconds(1));
  EXPECT_EQ(run.tick(seconds(1)), 0u);
  run.watcher.hello(host, PlanVersion(4), RunId(77), seconds(2));
  EXPECT_EQ(run.tick(seconds(2)), 1u) << "it missed the hour";
  run.watcher.hello(host, PlanVersion(3), epoch, seconds(3));
  EXPECT_EQ(run.tick(seconds(3)), 1u) << "it missed the plan";
  run.watcher.hello(host, {}, {}, seconds(4));
  EXPECT_EQ(run.tick(seconds(4)), 1u) << "it begins";
}

TEST(Watcher, AQueuePairThatMovedIsToldToWhoeverProbesItAndIsNoNewWork) {
  Renewed run;
  const auto before = run.has;
  const PortId nic = run.watcher.plan()->nics.front().nic;
  const packet::UdPair pair{QpNum(17), packet::QueueKey(3)};
  run.watcher.pairs_are({{nic, pair}});
  const auto told = run.tick(seconds(1));
  EXPECT_GT(told, 0u);
  std::size_t who_know = 0;
  for (const auto& [host, assignment] : run.has) {
    EXPECT_TRUE(same_work(assignment, before.at(host)));
    const auto is_it = [&](const auto& end) { return end.nic == nic; };
    const bool is_met =
        std::ranges::any_of(assignment.peers, is_it) || std::ranges::any_of(assignment.asked, is_it);
    EXPECT_EQ(assignment.pairs.size(), is_met ? 1u : 0u) << host;
    who_know += is_met ? 1 : 0;
  }
  EXPECT_EQ(told, who_know);
  run.watcher.pairs_are({{nic, pair}, {PortId(9999), pair}});
  EXPECT_EQ(run.tick(seconds(2)), 0u) << "nothing moved";
}

}  // namespace
}  // namespace weft::watch
