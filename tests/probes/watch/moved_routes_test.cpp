// Routes that move between two mappings, as agents that trace their streams tell a watcher.
#include <gmock/gmock.h>

#include <algorithm>

#include "probes/watch/route_checks.hpp"
#include "tests/support/standing_fleet.hpp"
#include "topology/base/splitmix.hpp"
#include "topology/model/clos.hpp"

namespace weft::watch {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

/// A fleet whose agents trace one stream a second of each host. Whoever `lies` says of them that they come to
/// another spine than the plan says; the others what the plan says.
struct Traced {
  Fabric fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  AddressPlan addresses = *plan_addresses(fabric, IpFamily::v4);
  std::function<bool(NodeId host, const StandingStream&)> is_moved = [](NodeId, const auto&) {
    return false;
  };
  std::uint32_t turn = 0;
  FleetRun run{fabric, {.delays = false}, {.tolerance = {}, .book = {}, .addresses = &addresses.book}};

  Traced() {
    run.between = [this](std::vector<SentWindow>& windows) {
      ++turn;
      for (SentWindow& sent : windows) trace(sent);
    };
  }
  /// The switch port that answers: that which the path enters at `hop`, of another spine where it moved.
  IpAddress answer(const StandingStream& stream, std::size_t hop, bool moved) const {
    const auto path = run.plan().paths.channels(run.plan().paths.paths(stream.there).front());
    ChannelId into = path[hop - 1];
    if (moved) {
      const NodeId leaf = fabric.source_node(path[1]), to = fabric.target_node(path[2]);
      for (const char* name : {"spine1", "spine2"}) {
        const NodeId spine = *fabric.find_node(name);
        if (spine == fabric.target_node(path[1])) continue;
        const auto [from, dst] = hop == 2 ? std::pair(leaf, spine) : std::pair(spine, to);
        for (const ChannelId channel : fabric.channels_at(from))
          if (fabric.source_node(channel) == from && fabric.target_node(channel) == dst) into = channel;
        break;
      }
    }
    return *addresses.book.address_of(fabric.target(into));
  }
  void trace(SentWindow& sent) {
    NicWindow& told = sent.window.nics.front();
    const StandingNic& nic = run.plan().nics_of(sent.host).front();
    const auto index = static_cast<std::uint32_t>(turn % nic.streams.size());
    const auto hop = hop_of(nic.first_row + index);
    if (hop == 0) return;
    const StandingStream& stream = nic.streams[index];
    told.traced = {{index, answer(stream, hop, is_moved(sent.host, stream))}};
  }
  std::uint8_t hop_of(std::uint32_t row) const {
    const StandingNic& nic = run.plan().nics[run.plan().nic_of(row)];
    const auto path =
        run.plan().paths.channels(run.plan().paths.paths(nic.streams[row - nic.first_row].there).front());
    return path.size() <= 2 ? 0 : mix_bits(row) % 2 == 1 ? 3 : 2;
  }
  NodeId host(std::string_view name) const { return *fabric.find_node(name); }
};

TEST(MovedRoutes, EachStreamOverASpineIsAskedAtTheSpineOrBehindIt) {
  Traced traced;
  const RouteChecks checks(traced.fabric, &traced.addresses.book, traced.run.plan());
  const KeyEpochs keys({}, {});
  std::size_t asked = 0;
  for (const NodeId host : traced.fabric.hosts()) {
    auto told = assignment_of(traced.fabric, traced.run.plan(), host, PlanVersion(1),
                              fleet_ends(traced.fabric, traced.run.plan()), keys, {});
    checks.add_to(told, host);
    EXPECT_EQ(told.nics.at(0).traces_per_second, kTracesASecond);
    const StandingNic& nic = traced.run.plan().nics_of(host).front();
    for (std::uint32_t s = 0; s < told.nics[0].streams.size(); ++s, ++asked)
      EXPECT_EQ(told.nics[0].streams[s].trace_hop, traced.hop_of(nic.first_row + s));
  }
  EXPECT_GT(asked, 100u);
}

TEST(MovedRoutes, NoSwitchIsAskedMoreThanItAnswers) {
  const Fabric fabric = *make_clos({.leaves = 16, .spines = 2, .hosts_per_leaf = 8});
  const auto addresses = *plan_addresses(fabric, IpFamily::v4);
  const StandingPlan plan = fleet_plan(fabric, {});
  const RouteChecks checks(fabric, &addresses.book, plan);
  std::vector<double> asked(fabric.node_count(), 0.0);
  for (const NodeId host : fabric.hosts()) {
    auto told =
        assignment_of(fabric, plan, host, PlanVersion(1), fleet_ends(fabric, plan), KeyEpochs({}, {}), {});
    checks.add_to(told, host);
    const StandingNic& nic = plan.nics_of(host).front();
    const auto traced =
        std::ranges::count_if(told.nics[0].streams, [](const auto& s) { return s.trace_hop > 0; });
    for (std::size_t s = 0; s < nic.streams.size(); ++s) {
      const auto hop = told.nics[0].streams[s].trace_hop;
      if (hop == 0) continue;
      const auto path = plan.paths.channels(plan.paths.paths(nic.streams[s].there).front());
      asked[fabric.target_node(path[hop - 1u]).value()] +=
          told.nics[0].traces_per_second / static_cast<double>(traced);
    }
  }
  EXPECT_NEAR(*std::ranges::max_element(asked), kAnswersASecond, 1e-6);
}

TEST(MovedRoutes, RoutesOfThePlanAreHealth) {
  Traced traced;
  traced.run.advance(60);
  EXPECT_EQ(traced.run.state().verdict, Verdict::healthy);
  EXPECT_FALSE(traced.run.state().routes_moved);
  EXPECT_THAT(traced.run.moved, IsEmpty());
}

TEST(MovedRoutes, OneThatMovedMakesThePlanDoubtfulUntilPathsAreMapped) {
  Traced traced;
  traced.run.advance(10);
  ASSERT_EQ(traced.run.state().verdict, Verdict::healthy);
  const NodeId spine = traced.host("spine2");
  traced.is_moved = [&](NodeId, const StandingStream& stream) {  // all leave it, and nothing is lost
    const auto path = traced.run.plan().paths.channels(traced.run.plan().paths.paths(stream.there).front());
    return path.size() > 2 && traced.fabric.target_node(path[1]) == spine;
  };
  const auto before = traced.run.now();
  traced.run.advance(5);
  EXPECT_EQ(traced.run.state().verdict, Verdict::unknown);
  EXPECT_TRUE(traced.run.state().routes_moved);
  EXPECT_TRUE(traced.run.wants_paths);
  EXPECT_THAT(traced.run.moved, SizeIs(1));
  traced.run.advance(60);
  EXPECT_EQ(traced.run.state().verdict, Verdict::unknown) << "by itself it is never known again";
  for (const ChannelId channel : traced.fabric.channels_at(spine)) {
    if (traced.fabric.target_node(channel) != spine) continue;
    EXPECT_EQ(traced.run.state().channels[channel.value()].verdict, Verdict::unknown);
  }
  traced.run.watcher().paths_known(before);
  traced.run.advance(1);
  EXPECT_EQ(traced.run.state().verdict, Verdict::unknown) << "they were mapped before";
  EXPECT_TRUE(traced.run.wants_paths);
  traced.is_moved = [](NodeId, const auto&) { return false; };
  traced.run.watcher().paths_known(traced.run.now());
  traced.run.advance(1);
  EXPECT_EQ(traced.run.state().verdict, Verdict::healthy);
  EXPECT_FALSE(traced.run.wants_paths);
  EXPECT_THAT(traced.run.events(), IsEmpty());
}

bool opened(const FleetRun& run) {
  return std::ranges::any_of(run.events(), [](const auto& e) { return e.change == IncidentChange::opened; });
}

TEST(MovedRoutes, WhatIsLostAfterwardsIsSureOfNoPlaceAndWhatWasLostBeforeIs) {
  for (const bool lost_before : {true, false}) {
    Traced traced;
    traced.run.advance(10);
    const auto fault = traced.run.now() + seconds(lost_before ? 1 : 8);
    traced.run.fleet().put(
        {{.link = *traced.fabric.find_link("leaf1--spine2"), .loss = Fraction(0.05)}, fault});
    traced.run.advance(4);
    traced.is_moved = [&](NodeId host, const auto&) { return host == traced.host("host9"); };
    traced.run.advance(25);
    EXPECT_EQ(opened(traced.run), lost_before);
    EXPECT_NE(traced.run.state().verdict, Verdict::healthy);
    if (lost_before) continue;
    traced.is_moved = [](NodeId, const auto&) { return false; };
    traced.run.watcher().paths_known(traced.run.now());
    traced.run.advance(6);
    EXPECT_TRUE(opened(traced.run)) << "paths are known again, and it goes on";
  }
}

TEST(MovedRoutes, WhatWasLostInADoubtIsOpenedByNoLaterLookBack) {
  for (const bool same : {true, false}) {
    Traced traced;
    traced.run.advance(10);
    const auto now = traced.run.now();
    traced.run.fleet().put({{.link = *traced.fabric.find_link("leaf1--spine2"), .loss = Fraction(0.05)},
                            now + seconds(8),
                            now + seconds(16)});
    traced.run.advance(4);
    traced.is_moved = [&](NodeId host, const auto&) { return host == traced.host("host9"); };
    traced.run.advance(13);
    traced.is_moved = [](NodeId, const auto&) { return false; };
    if (!same)
      traced.run.watcher().learned(traced.run.plan(), PlanVersion(2),
                                   fleet_ends(traced.fabric, traced.run.plan()), traced.run.now());
    traced.run.watcher().paths_known(traced.run.now());
    traced.run.advance(100);
    EXPECT_FALSE(opened(traced.run)) << (same ? "of the same plan" : "of the plan before");
  }
}

TEST(MovedRoutes, ADoubtHoldsNothingBackForLong) {
  Traced traced;
  traced.run.advance(10);
  traced.is_moved = [&](NodeId host, const auto&) { return host == traced.host("host9"); };
  traced.run.advance(5);
  traced.run.fleet().put(
      {{.link = *traced.fabric.find_link("leaf1--spine2"), .loss = Fraction(0.05)}, traced.run.now()});
  traced.run.advance(60);
  EXPECT_FALSE(opened(traced.run));
  traced.run.advance(60);  // nobody can map the paths
  EXPECT_TRUE(opened(traced.run));
}

/// How much of an hour is in doubt where paths are mapped whenever that is asked for, as the plan has them.
int doubted_seconds(Traced& traced) {
  int doubted = 0;
  std::optional<Nanoseconds> asked;
  for (int second = 0; second < 3600; ++second) {
    traced.run.advance(1);
    doubted += traced.run.state().routes_moved ? 1 : 0;
    if (!traced.run.wants_paths)
      asked.reset();
    else if (!asked)
      asked = traced.run.now() + std::chrono::milliseconds(250);  // when it was asked for
    else if (traced.run.now() - *asked >= seconds(5))
      traced.run.watcher().paths_known(*asked), asked.reset();
  }
  return doubted;
}

TEST(MovedRoutes, OneThatLiesIsNotBelievedForLongerEachTime) {
  Traced traced;
  traced.is_moved = [&](NodeId host, const auto&) { return host == traced.host("host6"); };
  EXPECT_LE(doubted_seconds(traced), 200);
  EXPECT_LE(traced.run.moved.size(), 7u);
  traced.is_moved = [&](NodeId host, const auto&) { return host == traced.host("host7"); };
  traced.run.advance(20);
  EXPECT_TRUE(traced.run.state().routes_moved) << "the others are believed";
}

TEST(MovedRoutes, OneThatLiesAndTakesItBackIsNotBelievedEither) {
  Traced traced;
  traced.is_moved = [&](NodeId host, const auto&) {
    return host == traced.host("host6") && traced.turn % 3 == 0;
  };
  const int doubted = doubted_seconds(traced);
  EXPECT_GT(doubted, 5);
  EXPECT_LE(doubted, 200);
}

TEST(MovedRoutes, ALieIsHeldAgainstAnotherPlanToo) {
  Traced traced;
  traced.run.advance(10);
  traced.is_moved = [&](NodeId host, const auto&) { return host == traced.host("host6"); };
  traced.run.advance(5);
  ASSERT_TRUE(traced.run.state().routes_moved);
  StandingPlan other = traced.run.plan();
  std::swap(other.nics[0].streams[0], other.nics[0].streams[1]);  // another one, of host1
  traced.run.watcher().learned(std::move(other), PlanVersion(2), fleet_ends(traced.fabric, traced.run.plan()),
                               traced.run.now());
  traced.run.watcher().paths_known(traced.run.now());
  EXPECT_FALSE(traced.run.state().routes_moved);
  traced.run.between = nullptr;
  traced.run.advance(2);
  EXPECT_FALSE(traced.run.state().routes_moved);
}

/// A plan's routes, and what agents say of them.
struct Doubted {
  Traced traced;
  RouteChecks checks{traced.fabric, &traced.addresses.book, traced.run.plan()};
  RouteDoubt doubt;

  MovedRoute answer(const char* host, bool moved) const {
    const StandingNic& nic = traced.run.plan().nics_of(traced.host(host)).front();
    const auto over = std::ranges::find_if(nic.streams, [&](const StandingStream& stream) {
      return traced.run.plan().paths.channels(traced.run.plan().paths.paths(stream.there).front()).size() > 2;
    });
    return {nic.nic, over->peer, over->label, 2, traced.answer(*over, 2, moved)};
  }
};

TEST(MovedRoutes, AClaimOlderThanTheMappingIsLateAndOneThatIsYoungerStays) {
  Doubted plan;
  plan.doubt.settle(seconds(30), plan.checks);
  EXPECT_FALSE(plan.doubt.believes(plan.traced.host("host1"), seconds(29)));
  EXPECT_TRUE(plan.doubt.believes(plan.traced.host("host1"), seconds(31)));
  plan.doubt.claim(plan.traced.host("host1"), plan.answer("host1", true), seconds(40));
  plan.doubt.settle(seconds(35), plan.checks);
  EXPECT_EQ(plan.doubt.since(), seconds(40));
  EXPECT_FALSE(plan.doubt.wants_paths(seconds(41)));
  EXPECT_TRUE(plan.doubt.wants_paths(seconds(56)));
  plan.doubt.settle(seconds(60), plan.checks);
  EXPECT_FALSE(plan.doubt.since());
}

TEST(MovedRoutes, WhatIsSaidWhileTheMappingRunsAndIsSoInItsPlanIsSettledByIt) {
  Doubted plan;
  plan.doubt.claim(plan.traced.host("host1"), plan.answer("host1", false), seconds(10));
  plan.doubt.claim(plan.traced.host("host2"), plan.answer("host2", false), seconds(13));
  plan.doubt.settle(seconds(12), plan.checks);
  EXPECT_FALSE(plan.doubt.since());
  for (const char* host : {"host1", "host2"})
    EXPECT_TRUE(plan.doubt.believes(plan.traced.host(host), seconds(14))) << "it was right";
}

TEST(MovedRoutes, SeveralWhoSawARouteThatCameBackAreBelievedAgain) {
  Doubted plan;
  for (const char* host : {"host1", "host6"})
    plan.doubt.claim(plan.traced.host(host), plan.answer(host, true), seconds(10));
  plan.doubt.settle(seconds(20), plan.checks);
  for (const char* host : {"host1", "host6"})
    EXPECT_TRUE(plan.doubt.believes(plan.traced.host(host), seconds(21)));
  plan.doubt.claim(plan.traced.host("host6"), plan.answer("host6", true), seconds(30));
  plan.doubt.settle(seconds(40), plan.checks);
  EXPECT_FALSE(plan.doubt.believes(plan.traced.host("host6"), seconds(41))) << "alone";
  EXPECT_TRUE(plan.doubt.believes(plan.traced.host("host6"), seconds(40) + kDisbelief));
}

/// As where packets are sprayed: what looked like one route is another with each packet.
TEST(MovedRoutes, WhereManyAreContradictedAgainAndAgainNobodyIsBelievedForAnHour) {
  Doubted plan;
  const auto all_say = [&](Nanoseconds at) {
    for (const char* host : {"host1", "host6"})
      if (plan.doubt.believes(plan.traced.host(host), at))
        plan.doubt.claim(plan.traced.host(host), plan.answer(host, true), at);
  };
  Nanoseconds now = seconds(10);
  for (unsigned i = 0; i < kMaxContradicted; ++i, now += minutes(1)) {
    EXPECT_FALSE(plan.doubt.gave_up());
    all_say(now);
    EXPECT_TRUE(plan.doubt.since());
    plan.doubt.settle(now + seconds(5), plan.checks);
  }
  EXPECT_TRUE(plan.doubt.gave_up());
  EXPECT_FALSE(plan.doubt.gave_up()) << "once";
  all_say(now);
  EXPECT_FALSE(plan.doubt.since());
  now += minutes(60);
  all_say(now);
  EXPECT_TRUE(plan.doubt.since());
}

TEST(MovedRoutes, SprayedPacketsKeepNoFabricInDoubt) {
  Traced traced;
  traced.is_moved = [&](NodeId host, const auto&) { return (traced.turn + host.value()) % 2 == 0; };
  EXPECT_LE(doubted_seconds(traced), 300);
}

TEST(MovedRoutes, NothingRecoversByAPlanInDoubt) {
  Traced traced;
  traced.run.advance(10);
  const auto now = traced.run.now();
  traced.run.fleet().put(
      {{.link = *traced.fabric.find_link("leaf1--spine2"), .loss = Fraction(0.1)}, now, now + seconds(20)});
  traced.run.advance(19);
  ASSERT_TRUE(opened(traced.run));
  traced.is_moved = [&](NodeId host, const auto&) { return host == traced.host("host9"); };
  traced.run.advance(160);
  for (const IncidentEvent& event : traced.run.events()) {
    EXPECT_NE(event.change, IncidentChange::recovering);
    EXPECT_NE(event.change, IncidentChange::closed);
  }
  traced.is_moved = [](NodeId, const auto&) { return false; };
  traced.run.watcher().paths_known(traced.run.now());
  traced.run.advance(120);
  EXPECT_EQ(traced.run.events().back().change, IncidentChange::closed);
}

/// A cable is dead, and the switch before it has no other way: it answers for the hops behind it.
TEST(MovedRoutes, ASwitchOnTheWayThatKnowsNoWayOnIsNoOtherRoute) {
  Traced traced;
  const RouteChecks checks(traced.fabric, &traced.addresses.book, traced.run.plan());
  for (const StandingNic& nic : traced.run.plan().nics)
    for (const StandingStream& stream : nic.streams) {
      const auto path = traced.run.plan().paths.channels(traced.run.plan().paths.paths(stream.there).front());
      if (path.size() <= 2) continue;
      EXPECT_EQ(checks.says({nic.nic, stream.peer, stream.label, 3, traced.answer(stream, 2, false)}),
                HopSays::nothing);
      EXPECT_EQ(checks.says({nic.nic, stream.peer, stream.label, 3, traced.answer(stream, 2, true)}),
                HopSays::elsewhere);
      EXPECT_EQ(checks.says({nic.nic, stream.peer, stream.label, 3, traced.answer(stream, 3, false)}),
                HopSays::fits);
    }
}

TEST(MovedRoutes, APlanThatWasTakenOverIsNoHealthUntilPathsAreMapped) {
  Traced traced;
  traced.run.advance(10);
  ASSERT_EQ(traced.run.state().verdict, Verdict::healthy);
  traced.run.watcher().learned(traced.run.plan(), PlanVersion(2),
                               fleet_ends(traced.fabric, traced.run.plan()), traced.run.now());
  EXPECT_EQ(traced.run.state().verdict, Verdict::unknown);
  traced.run.watcher().paths_known(traced.run.now());
  EXPECT_EQ(traced.run.state().verdict, Verdict::healthy);
}

TEST(MovedRoutes, HopsThatTheFabricDoesNotHaveAndHostsSayNothing) {
  Traced traced;
  traced.run.between = [&](std::vector<SentWindow>& windows) {
    for (SentWindow& sent : windows)
      sent.window.nics.front().traced = {
          {0, IpAddress(IpAddress::V4{192, 0, 2, 1})},
          {1, *traced.addresses.book.address_of(traced.run.plan().nics.front().nic)}};
  };
  traced.run.advance(20);
  EXPECT_EQ(traced.run.state().verdict, Verdict::healthy);
}

TEST(MovedRoutes, AStreamThatIsNotThereIsRefused) {
  Traced traced;
  traced.run.between = [&](std::vector<SentWindow>& windows) {
    for (SentWindow& sent : windows)
      if (sent.host == traced.host("host1"))
        sent.window.nics.front().traced = {{1000, IpAddress(IpAddress::V4{10, 0, 0, 1})}};
  };
  traced.run.advance(5);
  const auto state = traced.run.state();
  const auto told = std::ranges::find(state.agents, traced.host("host1"), &AgentState::host);
  EXPECT_GT(told->refused, 0u);
}

TEST(MovedRoutes, WithoutAddressesNothingIsAsked) {
  Traced traced;
  const RouteChecks checks(traced.fabric, nullptr, traced.run.plan());
  auto told = assignment_of(traced.fabric, traced.run.plan(), traced.host("host1"), PlanVersion(1),
                            fleet_ends(traced.fabric, traced.run.plan()), KeyEpochs({}, {}), {});
  checks.add_to(told, traced.host("host1"));
  EXPECT_EQ(told.nics.at(0).traces_per_second, 0);
  for (const StreamSpec& stream : told.nics[0].streams) EXPECT_EQ(stream.trace_hop, 0);
}

}  // namespace
}  // namespace weft::watch
